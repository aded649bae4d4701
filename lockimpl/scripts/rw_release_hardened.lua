-- After rw_store.lua. KEYS and ARGV as those of release_hardened.lua, and its answers.
local owner = ARGV[1]
local last = call('get', KEYS[3])
if last and last >= ARGV[2] then
  if string.sub(last, 1, 16) > ARGV[2] then
    return -2
  end
  return tonumber(string.sub(last, 17))
end
local holds, foreign = load(lock)
local hold = not foreign and holds[owner]
local answer = -1
if hold then
  answer = math.max(0, math.min(tonumber(ARGV[5] or hold[1] - 1), hold[1]))
end
call('set', KEYS[3], ARGV[2] .. answer, 'px', ARGV[3])
if answer > 0 then
  store(lock, holds, owner, {answer, now + ARGV[4]})
elseif answer == 0 then
  local left = store(lock, holds, owner, nil)
  if writes(owner) then
    call('publish', KEYS[2], '1') -- everybody looks, also if the owner reads on
  elseif not left then
    call('publish', KEYS[2], '0')
  end
end
return answer
