-- KEYS: 1 semaphore, 2 channel. ARGV: 1 permits, which may be fewer than 0.
-- The permits that are free now. SET also ends a time to live.
-- Not idempotent: a copy of it that is executed again adds again.
local free = (redis.call('get', KEYS[1]) or 0) + ARGV[1]
redis.call('set', KEYS[1], free)
redis.call('publish', KEYS[2], free)
return free
