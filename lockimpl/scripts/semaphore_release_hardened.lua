-- After once.lua. KEYS: 1 semaphore, 2 record. ARGV: 4 permits.
-- 1: given. 0: there is no semaphore, and none is made.
if call('exists', KEYS[1]) == 0 then
  return answer(0)
end
call('publish', ARGV[3], call('incrby', KEYS[1], ARGV[4]))
return answer(1)
