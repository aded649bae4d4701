-- KEYS: 1 latch, 2 channel. ARGV: 1 count.
-- 1: set. 0: there is a count already, be it 0.
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
redis.call('set', KEYS[1], ARGV[1])
redis.call('publish', KEYS[2], '1')
return 1
