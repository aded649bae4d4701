-- After once.lua. KEYS: 1 latch, 2 record, 3 round. ARGV: 4 ms to keep the round after it.
-- The count, 0 at least.
local count = tonumber(call('get', KEYS[1]) or 0)
if count > 1 then
  return answer(call('decr', KEYS[1]))
end
if call('del', KEYS[1]) == 1 then
  call('pexpire', KEYS[3], ARGV[4])
  call('publish', ARGV[3], '0')
end
return answer(0)
