-- All of several locks, or none. KEYS: for each lock 3i-2 lock, 3i-1 token counter, 3i the owner's
-- last request on it. ARGV: 1 lease in ms, 2 owner, 3 request number (16 digits), 4 ms to remember
-- the request, 4+i what to add to 1 and 4 if the owner holds lock i already; optional: one more,
-- anything: new token counters count from 1, for ever.
-- {1, answer, ...}: acquired, the answers of acquire_hardened. {0, i, ms}: lock i is held by
-- another for so long (-1: no expiry). {-1}: superseded by a later request of the owner.
-- Idempotent: a copy of a request that was executed gets the first answer, or superseded.
local call = redis.call
local n = #KEYS / 3
local first = {1}
for i = 1, n do
  local old = call('get', KEYS[3 * i])
  if old then
    local request = string.sub(old, 1, 16)
    if request > ARGV[3] then
      return {-1}
    elseif request == ARGV[3] then
      first[#first + 1] = tonumber(string.sub(old, 17))
    end
  end
end
if #first > 1 then
  if #first == n + 1 and first[2] ~= 0 then
    return first
  end
  return {-1} -- a refusal, remembered with the first lock only, as 0
end
local ttls = {}
for i = 1, n do
  local lock = KEYS[3 * i - 2]
  ttls[i] = call('pttl', lock)
  if ttls[i] ~= -2 and call('hexists', lock, ARGV[2]) == 0 then
    local px = call('pttl', KEYS[3])
    call('set', KEYS[3], ARGV[3] .. '0', 'px', math.max(px, ARGV[4]))
    return {0, i, ttls[i]}
  end
end
for i = 1, n do
  local lock, counter, answer, more = KEYS[3 * i - 2], KEYS[3 * i - 1], -1, ARGV[4 + i]
  if ttls[i] == -2 then
    more = 0
    answer = call('incr', counter)
    if answer == 1 and not ARGV[5 + n] then
      local now = call('time')
      answer = now[1] * 10000 + math.floor(now[2] / 100)
      call('set', counter, answer, 'px', 86400000)
    end
  end
  call('set', KEYS[3 * i], ARGV[3] .. answer, 'px', ARGV[4] + more)
  call('hincrby', lock, ARGV[2], 1)
  call('pexpire', lock, ARGV[1] + more)
  first[i + 1] = answer
end
return first
