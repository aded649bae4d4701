-- KEYS: 1 latch, 2 channel. The count, 0 at least.
-- Not idempotent: a copy of it that is executed again counts again.
local count = redis.call('decr', KEYS[1])
if count <= 0 then
  redis.call('del', KEYS[1])
end
if count == 0 then
  redis.call('publish', KEYS[2], '0')
end
return math.max(count, 0)
