-- After once.lua and permits_state.lua. ARGV: 4 permits, 5 0: only if there is no semaphore, 1: in any case,
-- 2: more, or less, than there are; optional: 6 ms to live. 1: set. 0: there is a semaphore.
local total = call('zscore', KEYS[1], 'total')
if total and ARGV[5] == '0' then
  return answer(0)
end
local permits = tonumber(ARGV[4])
if ARGV[5] == '2' then
  permits = math.max(0, permits - (total or 0))
end
call('zadd', KEYS[1], -permits, 'total')
if ARGV[6] then
  call('pexpire', KEYS[1], ARGV[6])
end
publish(ARGV[3])
return answer(1)
