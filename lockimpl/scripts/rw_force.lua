-- KEYS: 1 lock, 2 channel. ARGV: 1 message: 0 frees it from readers, 1 from a writer.
-- 1: the key was there, in that mode, and is gone. 0: it was not.
local modes = {['0'] = 'read', ['1'] = 'write'}
if redis.call('hget', KEYS[1], 'mode') ~= modes[ARGV[1]] then
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1
