-- After fair_line.lua. KEYS and ARGV as those of release_hardened.lua, and its answers, but KEYS: 2 channel,
-- without the owner, 4 queue.
local last = call('get', KEYS[3])
if last and last >= ARGV[2] then
  if string.sub(last, 1, 16) > ARGV[2] then
    return -2
  end
  return tonumber(string.sub(last, 17))
end
local holds = tonumber(call('hget', KEYS[1], ARGV[1]) or 0)
local answer = -1
if holds > 0 then
  answer = math.max(0, math.min(tonumber(ARGV[5] or holds - 1), holds))
end
call('set', KEYS[3], ARGV[2] .. answer, 'px', ARGV[3])
if answer == 0 then
  call('del', KEYS[1])
  wake(KEYS[2])
elseif answer > 0 then
  call('hset', KEYS[1], ARGV[1], answer)
  call('pexpire', KEYS[1], ARGV[4])
end
return answer
