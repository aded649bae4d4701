-- KEYS: 1 lock, 2 channel. ARGV: 1 message, 2 lease in ms, 3 owner.
-- nil: not held by the owner. 0: one hold fewer, lease reset. 1: released.
-- Not idempotent: a copy of it that is executed again decrements again.
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1
