-- After fair_queue.lua. ARGV: 2 lease in ms, 3 owner, 4 ms that a waiter's place is kept, 5 1: wait, if need
-- be. nil: acquired. Otherwise after how many ms to ask again: what is left of the lease, or, for one who
-- comes, until the last of the queue is given up. Not idempotent.
local owner, keep = ARGV[3], tonumber(ARGV[4])
purge()
if call('exists', KEYS[1]) == 0 and (call('exists', KEYS[2]) == 0 or call('lindex', KEYS[2], 0) == owner) then
  call('lpop', KEYS[2])
  call('zrem', KEYS[3], owner)
  for _, other in ipairs(call('zrange', KEYS[3], 0, -1)) do
    call('zincrby', KEYS[3], -keep, other)
  end
  call('hset', KEYS[1], owner, 1)
  call('pexpire', KEYS[1], ARGV[2])
  return nil
end
if call('hexists', KEYS[1], owner) == 1 then
  call('hincrby', KEYS[1], owner, 1)
  call('pexpire', KEYS[1], ARGV[2])
  return nil
end
if ARGV[5] ~= '1' or call('zscore', KEYS[3], owner) then
  return math.max(0, call('pttl', KEYS[1]))
end
local last = call('lindex', KEYS[2], -1)
local deadline = last and last ~= owner and call('zscore', KEYS[3], last)
local base = deadline and deadline - ARGV[1] or call('pttl', KEYS[1])
if call('zadd', KEYS[3], base + keep + ARGV[1], owner) == 1 then
  call('rpush', KEYS[2], owner)
end
return base
