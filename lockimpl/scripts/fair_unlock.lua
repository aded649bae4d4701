-- After fair_queue.lua. KEYS: 4 channel, without the owner, 5 latch.
-- ARGV: 2 message, 3 lease in ms, 4 owner, 5 latch lifetime in ms.
-- nil: not held by the owner. 0: one hold fewer, lease reset. 1: released, or nobody holds it.
-- Idempotent while the latch lives.
local answer = call('get', KEYS[5])
if answer then
  return tonumber(answer)
end
purge()
local function wakeHead()
  local head = call('lindex', KEYS[2], 0)
  if head then
    call('publish', KEYS[4] .. ':' .. head, ARGV[2])
  end
end
if call('exists', KEYS[1]) == 1 then
  if call('hexists', KEYS[1], ARGV[4]) == 0 then
    return nil
  end
  if call('hincrby', KEYS[1], ARGV[4], -1) > 0 then
    call('pexpire', KEYS[1], ARGV[3])
    call('set', KEYS[5], 0, 'px', ARGV[5])
    return 0
  end
  call('del', KEYS[1])
end
call('set', KEYS[5], 1, 'px', ARGV[5])
wakeHead()
return 1
