-- KEYS: 1 lock, 2 channel, 3 latch. ARGV: 1 message, 2 lease in ms, 3 owner, as a writer, 4 latch lifetime in
-- ms. nil: not held by the owner, or by nobody. 0: one hold fewer, lease reset. 1: the owner writes no more.
-- Idempotent while the latch lives. If the owner reads on, nobody is told that others may read, too.
local call = redis.call
local answer = call('get', KEYS[3])
if answer then
  return tonumber(answer)
end
local mode = call('hget', KEYS[1], 'mode')
if not mode then
  call('publish', KEYS[2], ARGV[1])
  call('set', KEYS[3], 1, 'px', ARGV[4])
  return nil
end
if mode ~= 'write' or call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  call('pexpire', KEYS[1], ARGV[2])
  call('set', KEYS[3], 0, 'px', ARGV[4])
  return 0
end
call('hdel', KEYS[1], ARGV[3])
if call('hlen', KEYS[1]) == 1 then
  call('del', KEYS[1])
  call('publish', KEYS[2], ARGV[1])
else
  call('hset', KEYS[1], 'mode', 'read')
end
call('set', KEYS[3], 1, 'px', ARGV[4])
return 1
