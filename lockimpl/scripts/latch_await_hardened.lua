-- KEYS: 1 latch, 2 round. ARGV: 1 ms to keep the round once the count is gone.
-- {count, round}, 0 where there is none.
local call = redis.call
local count = tonumber(call('get', KEYS[1]) or 0)
if count <= 0 and call('pttl', KEYS[2]) == -1 then -- it expired, or another client counted it down
  call('pexpire', KEYS[2], ARGV[1])
end
return {math.max(count, 0), tonumber(call('get', KEYS[2]) or 0)}
