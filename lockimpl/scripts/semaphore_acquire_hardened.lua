-- After once.lua. KEYS: 1 semaphore, 2 record. ARGV: 4 permits.
-- >= 0: taken, and so many are free now. -1: fewer are free, or there is no semaphore.
local free = call('get', KEYS[1])
if not free or tonumber(free) < tonumber(ARGV[4]) then
  return answer(-1)
end
return answer(call('decrby', KEYS[1], ARGV[4]))
