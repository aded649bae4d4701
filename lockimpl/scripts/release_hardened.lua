-- KEYS: 1 lock, 2 channel, 3 the owner's last request.
-- ARGV: 1 owner, 2 request number (16 digits), 3 ms to remember the request, 4 lease in ms to set
-- if holds remain; optional: 5 holds to leave at most, instead of one fewer than there are.
-- 0: released. > 0: the holds that remain. -1: not held by the owner. -2: superseded by a later
-- request of the owner.
-- Idempotent: a copy of a request that was executed gets the first answer.
local call = redis.call
local holds = call('hget', KEYS[1], ARGV[1])
local answer = -1
if holds == '1' and not ARGV[5] then
  answer = 0
elseif holds then
  answer = math.max(0, math.min(tonumber(ARGV[5] or holds - 1), tonumber(holds)))
end
local old = call('set', KEYS[3], ARGV[2] .. answer, 'px', ARGV[3], 'get')
if old and old >= ARGV[2] then -- for numbers have equally many digits
  call('set', KEYS[3], old, 'px', ARGV[3])
  if string.sub(old, 1, 16) > ARGV[2] then
    return -2
  end
  return tonumber(string.sub(old, 17))
end
if answer == 0 then
  call('del', KEYS[1])
  call('publish', KEYS[2], '0')
elseif answer > 0 then
  call('hset', KEYS[1], ARGV[1], answer)
  call('pexpire', KEYS[1], ARGV[4])
end
return answer
