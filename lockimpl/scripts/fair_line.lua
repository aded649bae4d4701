-- The beginning of the scripts of the hardened fair lock, whose queue is one key, #KEYS: a sorted set in
-- which a waiter has two members, "q:<owner>" with the number of its turn, 1 at least, and "d:<owner>" with
-- minus the time, in ms of the server's clock, until which its place is kept.
local call = redis.call
local queue = KEYS[#KEYS]
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function drop(owner)
  return call('zrem', queue, 'q:' .. owner, 'd:' .. owner)
end
-- The owner whose turn it is, nil: nobody waits. Whoever did not ask for too long has lost its place.
local function first()
  for _, dead in ipairs(call('zrangebyscore', queue, string.format('%.0f', -now), -1)) do
    drop(string.sub(dead, 3))
  end
  local head = call('zrangebyscore', queue, 1, '+inf', 'limit', 0, 1)[1]
  return head and string.sub(head, 3)
end
local function wake(channel)
  local head = first()
  if head then
    call('publish', channel .. ':' .. head, '0')
  end
end
