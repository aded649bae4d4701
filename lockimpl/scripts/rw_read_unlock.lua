-- KEYS: 1 lock, 2 channel, 3 latch. ARGV: 1 message, 2 nothing, 3 owner, 4 latch lifetime in ms. nil: not
-- held by the owner, or by nobody. 0: the lock is held still. 1: it is free. Idempotent while the latch
-- lives. The lease of the last read hold is the one that goes, whichever has ended; and the key then lasts as
-- long as the longest lease of a reader: a writer's is not looked at.
local call = redis.call
local lock, owner = KEYS[1], ARGV[3]
local answer = call('get', KEYS[3])
if answer then
  return tonumber(answer)
end
local function answered(n)
  call('set', KEYS[3], n, 'px', ARGV[4])
  return n
end
local mode = call('hget', lock, 'mode')
if not mode then
  call('publish', KEYS[2], ARGV[1])
  answered(1)
  return nil
end
if call('hexists', lock, owner) == 0 then
  return nil
end
local tag = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
local left = call('hincrby', lock, owner, -1)
if left == 0 then
  call('hdel', lock, owner)
end
call('del', tag .. ':' .. owner .. ':rwlock_timeout:' .. (left + 1))
if call('hlen', lock) > 1 then
  local longest = -3
  for _, field in ipairs(call('hkeys', lock)) do
    local holds = tonumber(call('hget', lock, field))
    for i = 1, holds or 0 do
      longest = math.max(longest, call('pttl', tag .. ':' .. field .. ':rwlock_timeout:' .. i))
    end
  end
  if longest > 0 then
    call('pexpire', lock, longest)
    return answered(0)
  end
  if mode == 'write' then
    return answered(0)
  end
end
call('del', lock)
call('publish', KEYS[2], ARGV[1])
return answered(1)
