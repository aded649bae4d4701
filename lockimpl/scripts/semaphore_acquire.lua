-- KEYS: 1 semaphore. ARGV: 1 permits.
-- 1: taken. 0: fewer are free, or there is no semaphore.
-- Not idempotent: a copy of it that is executed again takes again.
local free = redis.call('get', KEYS[1])
if free and tonumber(free) >= tonumber(ARGV[1]) then
  redis.call('decrby', KEYS[1], ARGV[1])
  return 1
end
return 0
