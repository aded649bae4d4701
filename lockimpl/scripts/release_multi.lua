-- One hold of each of several locks. KEYS: for each lock 3i-2 lock, 3i-1 channel, 3i the owner's
-- last request on it. ARGV: 1 owner, 2 request number (16 digits), 2i+1 ms to remember the request
-- on lock i, 2i+2 lease of lock i in ms to set if holds remain.
-- For each lock the answer of release_hardened. A key of another type is not held, and must not
-- keep the others from being released.
-- Idempotent: a copy of a request that was executed gets the first answer.
local call, pcall = redis.call, redis.pcall
local answers = {}
for i = 1, #KEYS / 3 do
  local lock, record = KEYS[3 * i - 2], KEYS[3 * i]
  local holds = pcall('hget', lock, ARGV[1])
  local answer = -1
  if type(holds) == 'string' then
    answer = holds - 1
  end
  local old = call('set', record, ARGV[2] .. answer, 'px', ARGV[2 * i + 1], 'get')
  if old and string.sub(old, 1, 16) >= ARGV[2] then
    call('set', record, old, 'px', ARGV[2 * i + 1])
    answer = -2
    if string.sub(old, 1, 16) == ARGV[2] then
      answer = tonumber(string.sub(old, 17))
    end
  elseif answer == 0 then
    call('del', lock)
    call('publish', KEYS[3 * i - 1], '0')
  elseif answer > 0 then
    call('hset', lock, ARGV[1], answer)
    call('pexpire', lock, ARGV[2 * i + 2])
  end
  answers[i] = answer
end
return answers
