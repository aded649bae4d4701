-- KEYS: 1 semaphore.
-- The permits that were free. SET also ends a time to live.
local free = redis.call('get', KEYS[1])
if not free then
  return 0
end
redis.call('set', KEYS[1], 0)
return tonumber(free)
