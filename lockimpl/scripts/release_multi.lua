-- One hold of each of several locks. KEYS: for each lock 3i-2 lock, 3i-1 channel, 3i the owner's
-- last request on it. ARGV: 1 message, 2 owner, 3 request number, 4 ms to remember the request
-- (beyond the lease, if holds remain), 4+i lease of lock i in ms.
-- For each lock the answer of release_hardened. A key of another type is not held, and must not
-- keep the others from being released.
-- Idempotent: a copy of a request that was executed gets the first answer.
local request = tonumber(ARGV[3])
local answers = {}
for i = 1, #KEYS / 3 do
  local lock, channel, record = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local token, remain = '0', nil
  local old = redis.call('get', record)
  if old then
    local last, answer, of = string.match(old, '^(%d+):(-?%d+):(%d+)$')
    if tonumber(last) == request then
      remain = tonumber(answer)
    elseif tonumber(last) > request then
      remain = -2
    end
    token = of
  end
  if not remain then
    local memory = tonumber(ARGV[4])
    local held = redis.pcall('hget', lock, ARGV[2])
    local holds = type(held) == 'string' and tonumber(held) or 0
    if holds == 0 then
      remain, token = -1, '0'
    elseif holds == 1 then
      remain, token = 0, '0'
      redis.call('del', lock)
      redis.call('publish', channel, ARGV[1])
    else
      remain = redis.call('hincrby', lock, ARGV[2], -1)
      redis.call('pexpire', lock, ARGV[4 + i])
      memory = memory + ARGV[4 + i]
    end
    redis.call('set', record, ARGV[3] .. ':' .. remain .. ':' .. token, 'px', memory)
  end
  answers[i] = remain
end
return answers
