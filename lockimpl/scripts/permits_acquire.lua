-- After permits_reclaim.lua. ARGV: 2 deadline in ms, 3 permit.
-- nil: taken. Otherwise the nearest deadline, in ms of a client's clock; -1: none.
-- Not idempotent: a copy of it that is executed again takes again, though there is one permit.
reclaim(1)
if tonumber(call('get', KEYS[1]) or 0) >= 1 then
  call('decr', KEYS[1])
  call('zadd', KEYS[2], ARGV[2], ARGV[3])
  local ttl = call('pttl', KEYS[1])
  if ttl > 0 then
    call('pexpire', KEYS[2], ttl)
  end
  return nil
end
local nearest = call('zrange', KEYS[2], 0, 0, 'withscores')[2]
if not nearest or tonumber(nearest) >= 922337203685477 then
  return -1
end
return tonumber(nearest)
