-- After once.lua. KEYS: 1 latch, 2 record, 3 round. ARGV: 4 ms to keep the round after it.
-- 1: deleted, and whoever waits is told. 0: there was none.
if call('del', KEYS[1]) == 0 then
  return answer(0)
end
call('pexpire', KEYS[3], ARGV[4])
call('publish', ARGV[3], '0')
return answer(1)
