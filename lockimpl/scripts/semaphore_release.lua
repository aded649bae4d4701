-- KEYS: 1 semaphore, 2 channel. ARGV: 1 permits, 2 1: only if there is a semaphore.
-- 1: given. 0: there is none.
-- Not idempotent: a copy of it that is executed again gives again.
if ARGV[2] == '1' and redis.call('exists', KEYS[1]) == 0 then
  return 0
end
redis.call('publish', KEYS[2], redis.call('incrby', KEYS[1], ARGV[1]))
return 1
