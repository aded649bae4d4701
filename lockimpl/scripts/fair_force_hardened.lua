-- After fair_line.lua. KEYS and ARGV as those of force_hardened.lua, but KEYS: 2 channel, without the owner,
-- 4 queue.
local answer = call('get', KEYS[3])
if answer then
  return tonumber(answer)
end
local holder = call('hkeys', KEYS[1])[1]
local freed = call('del', KEYS[1])
if freed == 1 then
  call('publish', KEYS[2] .. ':' .. holder, ARGV[1]) -- it is told of its loss
  wake(KEYS[2])
end
call('set', KEYS[3], freed, 'px', ARGV[2])
return freed
