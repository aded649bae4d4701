-- The beginning of scripts of Redisson's semaphore of permits that expire. KEYS: 1 semaphore (free permits),
-- 2 deadlines (a sorted set from permit to ms), 3 channel. ARGV: 1 the caller's clock in ms.
local call = redis.call
-- Gives back permits, at most so many, whose deadlines are over by the caller's clock.
local function reclaim(most)
  local over = call('zrangebyscore', KEYS[2], 0, ARGV[1], 'limit', 0, most)
  if #over > 0 then
    call('zrem', KEYS[2], unpack(over))
    local free = call('incrby', KEYS[1], #over)
    if free > 0 then
      call('publish', KEYS[3], free)
    end
  end
end
