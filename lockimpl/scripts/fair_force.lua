-- After fair_queue.lua. KEYS: 4 channel, without the owner. ARGV: 2 message.
-- 1: the key was there and is gone. 0: it was free.
purge()
if call('del', KEYS[1]) == 0 then
  return 0
end
local head = call('lindex', KEYS[2], 0)
if head then
  call('publish', KEYS[4] .. ':' .. head, ARGV[2])
end
return 1
