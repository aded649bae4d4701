-- KEYS: 1 lock. ARGV: 1 lease in ms, 2 owner, as a writer. nil: acquired. Otherwise how long the lock's key
-- lasts in ms (-1: no end), also for a reader who would write. Not idempotent. The lease of a re-entry is
-- added to what is left.
local call = redis.call
local mode = call('hget', KEYS[1], 'mode')
if not mode then
  call('hset', KEYS[1], 'mode', 'write', ARGV[2], 1)
  call('pexpire', KEYS[1], ARGV[1])
  return nil
end
local left = call('pttl', KEYS[1])
if mode == 'write' and call('hexists', KEYS[1], ARGV[2]) == 1 then
  call('hincrby', KEYS[1], ARGV[2], 1)
  call('pexpire', KEYS[1], left + ARGV[1])
  return nil
end
return left
