-- KEYS: 1 lock, 2 channel, 3 latch. ARGV: 1 message, 2 lease in ms, 3 owner, 4 latch lifetime in ms.
-- nil: not held by the owner. 0: one hold fewer, lease reset. 1: released.
-- Idempotent while the latch lives: it remembers the first answer for the request.
local answer = redis.call('get', KEYS[3])
if answer then
  return tonumber(answer)
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('set', KEYS[3], 0, 'px', ARGV[4])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
redis.call('set', KEYS[3], 1, 'px', ARGV[4])
return 1
