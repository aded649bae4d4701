-- KEYS: 1 lock, 2 channel. ARGV: 1 message.
-- 1: the key was there and is gone. 0: it was free.
if redis.call('del', KEYS[1]) == 0 then
  return 0
end
redis.call('publish', KEYS[2], ARGV[1])
return 1
