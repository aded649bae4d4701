-- After fair_line.lua. KEYS and ARGV as those of acquire_hardened.lua, and its answers, but KEYS: 4 queue.
-- ARGV: 5 is always there, 6 ms that a waiter's place is kept, 0: it does not wait, 7 ms after which to ask
-- again at the latest.
local owner = ARGV[2]
local last = call('get', KEYS[3])
if last and last >= ARGV[3] then -- for numbers have equally many digits
  if string.sub(last, 1, 16) > ARGV[3] then
    return 0
  end
  return tonumber(string.sub(last, 17))
end
local head = first()
local ttl = call('pttl', KEYS[1])
local memory, lease, keep = tonumber(ARGV[4]), tonumber(ARGV[1]), tonumber(ARGV[6])
local answer
if ttl ~= -2 and call('hexists', KEYS[1], owner) == 1 then
  answer = -1
  lease, memory = lease + ARGV[5], memory + ARGV[5]
elseif ttl == -2 and (not head or head == owner) then
  drop(owner)
  answer = call('incr', KEYS[2])
  if answer == 1 then
    answer = time[1] * 10000 + math.floor(time[2] / 100)
    call('set', KEYS[2], answer, 'px', 86400000)
  end
else
  if keep > 0 then
    if not call('zscore', queue, 'q:' .. owner) then
      local back = call('zrevrange', queue, 0, 0, 'withscores')
      call('zadd', queue, math.max(back[2] or 0, 0) + 1, 'q:' .. owner)
    end
    call('zadd', queue, string.format('%.0f', -now - keep), 'd:' .. owner)
    call('pexpire', queue, keep)
    if ttl == -2 then -- the head is about to take it, or dead
      ttl = math.max(1, -call('zscore', queue, 'd:' .. head) - now)
    end
    if ttl < 0 or ttl > tonumber(ARGV[7]) then
      ttl = tonumber(ARGV[7])
    end
  end
  answer = -3 - math.max(ttl, -1)
end
call('set', KEYS[3], ARGV[3] .. string.format('%.0f', answer), 'px', memory)
if answer >= -1 then
  call('hincrby', KEYS[1], owner, 1)
  call('pexpire', KEYS[1], lease)
end
return answer
