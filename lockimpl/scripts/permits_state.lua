-- The beginning of scripts of the hardened semaphore of permits that expire: KEYS[1] is a sorted set of
-- permits with their deadlines, in ms of the server's clock, and of "total" with minus the number of permits
-- that there are.
local call = redis.call
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- How many are free, nil: there is no semaphore. Permits whose deadlines are over are removed.
local function free()
  call('zremrangebyscore', KEYS[1], '(0', string.format('%.0f', now))
  local total = call('zscore', KEYS[1], 'total')
  return total and -total - call('zcard', KEYS[1]) + 1
end
local function publish(channel)
  local n = free()
  if n and n > 0 then
    call('publish', channel, n)
  end
end
local function deadline(lease)
  return lease == '0' and '+inf' or string.format('%.0f', now + lease)
end
