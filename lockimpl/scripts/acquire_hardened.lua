-- KEYS: 1 lock, 2 token counter, 3 the owner's last request; optional: 4 channel, on which to tell
-- the others that wait, and how many processes that are, that the lock is taken.
-- ARGV: 1 lease in ms, 2 owner, 3 request number (16 digits), 4 ms to remember the request;
-- optional: 5 what to add to 1 and 4 if the owner holds the lock already, 6 anything: a new token
-- counter counts from 1, for ever.
-- > 0: granted, the fencing token. -1: re-entered. < -1: -3 - the holder's remaining lease in ms
-- (-1: no expiry). 0: superseded by a later request of the owner.
-- Idempotent: a copy of a request that was executed gets the first answer.
local call = redis.call
local ttl = call('pttl', KEYS[1])
local answer = -1
if ttl == -2 then
  answer = call('incr', KEYS[2])
  if answer == 1 and not ARGV[6] then
    -- Counting from the time, in units of 100 us, goes on rising when the counter is forgotten.
    local now = call('time')
    answer = now[1] * 10000 + math.floor(now[2] / 100)
    call('set', KEYS[2], answer, 'px', 86400000)
  end
elseif call('hexists', KEYS[1], ARGV[2]) == 0 then
  answer = -3 - ttl
end
local memory = ARGV[4]
if answer == -1 and ARGV[5] then
  memory = memory + ARGV[5]
end
local old = call('set', KEYS[3], ARGV[3] .. answer, 'px', memory, 'get')
if old and old >= ARGV[3] then -- for numbers have equally many digits
  call('set', KEYS[3], old, 'px', memory)
  if string.sub(old, 1, 16) > ARGV[3] then
    return 0
  end
  return tonumber(string.sub(old, 17))
end
if answer >= -1 then
  call('hincrby', KEYS[1], ARGV[2], 1)
  local lease = ARGV[1]
  if answer == -1 and ARGV[5] then
    lease = lease + ARGV[5]
  end
  call('pexpire', KEYS[1], lease)
  if KEYS[4] then
    local processes = call('pubsub', 'numsub', KEYS[4])[2]
    if processes > 4 then -- fewer all try at once: vanguard in hub.go
      call('publish', KEYS[4], 'taken:' .. processes)
    end
  end
end
return answer
