-- After once.lua. KEYS: 1 semaphore, 2 record. ARGV: 4 permits; optional: 5 ms to live.
-- 1: set. 0: there is a semaphore already.
if call('exists', KEYS[1]) == 1 then
  return answer(0)
end
if ARGV[5] then
  call('set', KEYS[1], ARGV[4], 'px', ARGV[5])
else
  call('set', KEYS[1], ARGV[4])
end
call('publish', ARGV[3], ARGV[4])
return answer(1)
