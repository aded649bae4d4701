-- KEYS: 1 latch, 2 channel. 1: deleted. 0: there was none.
-- What it publishes closes the gate of those who wait: nothing wakes them.
if redis.call('del', KEYS[1]) == 0 then
  return 0
end
redis.call('publish', KEYS[2], '1')
return 1
