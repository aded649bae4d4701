-- KEYS: 1 lock. ARGV: 1 lease in ms, 2 owner.
-- nil: acquired. Otherwise how long the lock's key lasts in ms (-1: no end).
-- Not idempotent. Each read hold has a key of its own with its lease, whose name is made here.
local call = redis.call
local lock, owner = KEYS[1], ARGV[2]
local mode = call('hget', lock, 'mode')
if mode and mode ~= 'read' and not (mode == 'write' and call('hexists', lock, owner .. ':write') == 1) then
  return call('pttl', lock)
end
if not mode then
  call('hset', lock, 'mode', 'read')
end
local hold = call('hincrby', lock, owner, 1)
local tag = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
call('set', tag .. ':' .. owner .. ':rwlock_timeout:' .. hold, 1, 'px', ARGV[1])
call('pexpire', lock, math.max(call('pttl', lock), tonumber(ARGV[1])))
return nil
