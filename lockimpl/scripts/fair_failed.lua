-- KEYS: 1 queue, 2 deadlines. ARGV: 1 owner, who waits no more, 2 ms that a waiter's place is kept.
-- Idempotent.
local queue, behind = redis.call('lrange', KEYS[1], 0, -1), false
for _, other in ipairs(queue) do
  if behind then
    redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), other)
  end
  behind = behind or other == ARGV[1]
end
redis.call('zrem', KEYS[2], ARGV[1])
return redis.call('lrem', KEYS[1], 0, ARGV[1])
