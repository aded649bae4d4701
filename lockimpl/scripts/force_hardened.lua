-- KEYS: 1 lock, 2 channel, 3 latch. ARGV: 1 message, 2 latch lifetime in ms.
-- 1: the key was there and is gone. 0: it was free.
-- Idempotent while the latch lives: it remembers the first answer for the request.
local answer = redis.call('get', KEYS[3])
if answer then
  return tonumber(answer)
end
local freed = redis.call('del', KEYS[1])
if freed == 1 then
  redis.call('publish', KEYS[2], ARGV[1])
end
redis.call('set', KEYS[3], freed, 'px', ARGV[2])
return freed
