-- KEYS: locks. ARGV: 1 lease in ms, i+1 owner of KEYS[i]. For each lock 1: the leases of all read holds of
-- the owner, and that of the lock, are reset, 0: not held by the owner.
local call, pcall = redis.call, redis.pcall
local answers = {}
for i = 1, #KEYS do
  local lock, owner = KEYS[i], ARGV[i + 1]
  local holds = pcall('hget', lock, owner)
  answers[i] = 0
  if type(holds) == 'string' then
    local tag = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
    for hold = 1, tonumber(holds) do
      call('pexpire', tag .. ':' .. owner .. ':rwlock_timeout:' .. hold, ARGV[1])
    end
    call('pexpire', lock, ARGV[1])
    answers[i] = 1
  end
end
return answers
