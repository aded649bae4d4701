-- After permits_reclaim.lua. ARGV: 2 permit.
-- 1: given back. 0: unknown; or its deadline was over, and it is given back.
local deadline = call('zscore', KEYS[2], ARGV[2])
if call('zrem', KEYS[2], ARGV[2]) ~= 1 then
  return 0
end
call('publish', KEYS[3], call('incrby', KEYS[1], 1))
return tonumber(deadline) > tonumber(ARGV[1]) and 1 or 0
