-- KEYS: 1 lock, 2 nothing, 3 latch. ARGV: 1 nothing, 2 lease in ms, 3 owner, 4 latch lifetime in ms.
-- nil: not held by the owner. 0: one hold fewer, lease reset. 1: released; nobody is told.
-- Idempotent while the latch lives.
local answer = redis.call('get', KEYS[3])
if answer then
  return tonumber(answer)
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
local left = redis.call('hincrby', KEYS[1], ARGV[3], -1)
if left > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
else
  redis.call('del', KEYS[1])
end
redis.call('set', KEYS[3], left > 0 and 0 or 1, 'px', ARGV[4])
return left > 0 and 0 or 1
