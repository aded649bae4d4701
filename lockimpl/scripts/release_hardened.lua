-- KEYS: 1 lock, 2 channel, 3 the owner's last request.
-- ARGV: 1 message, 2 lease in ms, 3 owner, 4 request number, 5 ms to remember the request (beyond
-- the lease, if holds remain), 6 holds to leave at most; absent: one fewer than there are.
-- 0: released. > 0: the holds that remain, lease reset. -1: not held by the owner. -2: superseded
-- by a later request of the owner.
-- Idempotent: a copy of a request that was executed gets the first answer.
local token = '0'
local record = redis.call('get', KEYS[3])
if record then
  local last, answer, of = string.match(record, '^(%d+):(-?%d+):(%d+)$')
  last = tonumber(last)
  local request = tonumber(ARGV[4])
  if last == request then
    return tonumber(answer)
  elseif last > request then
    return -2
  end
  token = of
end
local holds = tonumber(redis.call('hget', KEYS[1], ARGV[3]))
local remain = -1
local memory = tonumber(ARGV[5])
if not holds then
  token = '0'
else
  remain = math.min(tonumber(ARGV[6] or holds - 1), holds)
  if remain > 0 then
    if remain ~= holds then
      redis.call('hset', KEYS[1], ARGV[3], remain)
    end
    redis.call('pexpire', KEYS[1], ARGV[2])
    memory = memory + ARGV[2]
  else
    remain = 0
    token = '0'
    redis.call('del', KEYS[1])
    redis.call('publish', KEYS[2], ARGV[1])
  end
end
redis.call('set', KEYS[3], ARGV[4] .. ':' .. remain .. ':' .. token, 'px', memory)
return remain
