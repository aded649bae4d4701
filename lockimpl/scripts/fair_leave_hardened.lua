-- After fair_line.lua. KEYS: 1 lock, 2 the owner's last request, 3 queue. ARGV: 1 owner, who waits no more, 2
-- request number, 3 ms to remember it, 4 channel, without the owner. 1: done. 0: superseded by a later
-- request of the owner. No earlier request of the owner will have it wait.
local last = call('get', KEYS[2])
if last and last >= ARGV[2] then
  return string.sub(last, 1, 16) == ARGV[2] and 1 or 0
end
call('set', KEYS[2], ARGV[2] .. '1', 'px', ARGV[3])
drop(ARGV[1])
if call('exists', KEYS[1]) == 0 then
  wake(ARGV[4]) -- it may have been the head
end
return 1
