-- After once.lua. KEYS: 1 semaphore, 2 record. ARGV: 4 permits, which may be fewer than 0.
-- The permits that are free now. A time to live stays.
local free = call('incrby', KEYS[1], ARGV[4])
if free > 0 then
  call('publish', ARGV[3], free)
end
return answer(free)
