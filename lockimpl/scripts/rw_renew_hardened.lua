-- After rw_store.lua. KEYS and ARGV as those of renew_hardened.lua, and its answers.
local answers = {}
for i = 1, #KEYS / 2 do
  local lock, record, owner = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i + 1]
  answers[i] = 0
  if type(redis.pcall('hget', lock, owner)) == 'string' then
    local holds, foreign = load(lock)
    local hold = not foreign and holds[owner]
    if hold then
      local last = call('get', record)
      if last and string.sub(last, 1, 16) > ARGV[2 * i + 2] then
        answers[i] = 2
      else
        store(lock, holds, owner, {hold[1], math.max(hold[2], now + ARGV[1])})
        if call('pttl', record) < tonumber(ARGV[2]) then
          call('pexpire', record, ARGV[2])
        end
        answers[i] = 1
      end
    end
  end
end
return answers
