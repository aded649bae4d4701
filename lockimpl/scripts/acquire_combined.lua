-- KEYS: 1 lock. ARGV: 1 lease in ms, 2 owner.
-- nil: acquired. Otherwise the holder's remaining lease in ms (-1: no expiry).
-- Not idempotent: a copy of it that is executed again counts again.
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
