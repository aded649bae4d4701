-- After once.lua. KEYS: 1 latch, 2 record, 3 round. ARGV: 4 count.
-- 1: set, and a new round begins. 0: the count is above 0.
if tonumber(call('get', KEYS[1]) or 0) > 0 then
  return answer(0)
end
-- Rounds follow the clock, so that they also differ when the round is forgotten.
local now = call('time')
local round = math.max(now[1] * 1000000 + now[2], (call('get', KEYS[3]) or 0) + 1)
call('set', KEYS[3], string.format('%.0f', round))
call('set', KEYS[1], ARGV[4])
call('publish', ARGV[3], '1')
return answer(1)
