-- After once.lua. KEYS: 1 semaphore, 2 record. ARGV: 4 number of the acquire that nobody wants any
-- more, 5 its permits.
-- 1: it had taken them, and they are given back. 0: it had not, and no copy of it will.
if last and string.sub(last, 1, 16) == ARGV[4] and tonumber(string.sub(last, 17)) >= 0
  and call('exists', KEYS[1]) == 1 then
  call('publish', ARGV[3], call('incrby', KEYS[1], ARGV[5]))
  return answer(1)
end
return answer(0)
