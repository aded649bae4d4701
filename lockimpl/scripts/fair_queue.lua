-- The beginning of the scripts of Redisson's fair lock. KEYS: 1 lock, 2 queue (a list of owners, the next one
-- first), 3 deadlines (a sorted set). ARGV: 1 the caller's clock in ms.
local call = redis.call
-- Drops waiters from the head on whose deadlines are over by the caller's clock, up to the first that is not,
-- or has none.
local function purge()
  while true do
    local head = call('lindex', KEYS[2], 0)
    local deadline = head and call('zscore', KEYS[3], head)
    if not deadline or tonumber(deadline) > tonumber(ARGV[1]) then
      return
    end
    call('zrem', KEYS[3], head)
    call('lpop', KEYS[2])
  end
end
