-- KEYS: 1 lock, 2 token counter, 3 the owner's last request.
-- ARGV: 1 lease in ms, 2 owner, 3 request number, 4 ms to remember the request (beyond the lease,
-- if it is granted), 5 ms to keep a new token counter, 0: for ever, 6 lease in ms if the owner
-- holds the lock already.
-- > 0: acquired, the fencing token. < 0: -2 - the holder's remaining lease in ms (-1: no expiry).
-- 0: superseded by a later request of the owner.
-- Idempotent: a copy of a request that was executed gets the first answer.
local token
local lease = ARGV[1]
local record = redis.call('get', KEYS[3])
if record then
  local last, answer, of = string.match(record, '^(%d+):(-?%d+):(%d+)$')
  last = tonumber(last)
  local request = tonumber(ARGV[3])
  if last == request then
    return tonumber(answer)
  elseif last > request then
    return 0
  end
  token = of
end
local ttl = redis.call('pttl', KEYS[1])
if ttl ~= -2 then
  if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
    local answer = -2 - ttl
    redis.call('set', KEYS[3], ARGV[3] .. ':' .. answer .. ':0', 'px', ARGV[4])
    return answer
  end
  lease = ARGV[6]
end
-- A grant gets a new token, a re-entry that of its grant. A counter that is kept for ever counts
-- from 1; any other from the time in microseconds, to go on rising when it was forgotten.
if ttl == -2 or not token or token == '0' then
  local count = redis.call('incr', KEYS[2])
  if count == 1 and ARGV[5] ~= '0' then
    local now = redis.call('time')
    token = now[1] .. string.format('%06d', tonumber(now[2]))
    redis.call('set', KEYS[2], token, 'px', ARGV[5])
  else
    token = string.format('%.0f', count)
  end
end
redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], lease)
redis.call('set', KEYS[3], ARGV[3] .. ':' .. token .. ':' .. token, 'px', lease + ARGV[4])
return tonumber(token)
