-- KEYS: 1 semaphore, 2 channel. ARGV: 1 permits; optional: 2 ms to live.
-- 1: set. 0: there is a semaphore already.
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
if ARGV[2] then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
else
  redis.call('set', KEYS[1], ARGV[1])
end
redis.call('publish', KEYS[2], ARGV[1])
return 1
