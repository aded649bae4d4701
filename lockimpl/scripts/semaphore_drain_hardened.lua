-- After once.lua. KEYS: 1 semaphore, 2 record.
-- The permits that were free. A time to live stays.
local free = call('get', KEYS[1])
if not free then
  return answer(0)
end
call('decrby', KEYS[1], free)
return answer(tonumber(free))
