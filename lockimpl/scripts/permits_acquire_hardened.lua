-- After once.lua and permits_state.lua. ARGV: 4 lease in ms, 0: none, 5 permit. >= 0: taken, and so many are
-- free now. -1: none is free, nor will one be by itself. < -1: -2 - ms until one will.
local n = free()
if n and n > 0 then
  call('zadd', KEYS[1], deadline(ARGV[4]), ARGV[5])
  return answer(n - 1)
end
local nearest = tonumber(call('zrangebyscore', KEYS[1], '(0', '1e300', 'withscores', 'limit', 0, 1)[2]) -- miniredis has (+inf include it
return answer(n and nearest and -2 - (nearest - now) or -1)
