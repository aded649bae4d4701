-- After permits_reclaim.lua. ARGV: 2 deadline in ms, 3 permit. 1: set. 0: unknown, or over.
reclaim(1000)
if not call('zscore', KEYS[2], ARGV[3]) then
  return 0
end
call('zadd', KEYS[2], ARGV[2], ARGV[3])
return 1
