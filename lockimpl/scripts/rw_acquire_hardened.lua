-- After rw_store.lua. KEYS and ARGV as those of acquire_hardened.lua, and its answers; -9000000000000000: the
-- owner reads, and who reads cannot write.
local owner = ARGV[2]
local last = call('get', KEYS[3])
if last and last >= ARGV[3] then -- for numbers have equally many digits
  if string.sub(last, 1, 16) > ARGV[3] then
    return 0
  end
  return tonumber(string.sub(last, 17))
end
local holds, foreign = load(lock)
local base = writes(owner) and string.sub(owner, 1, -7) or owner
local wait = 0 -- until the last of those is gone who are in the way
for other, hold in pairs(holds) do
  local mine = other == base or other == base .. ':write'
  if not mine and (writes(owner) or writes(other)) then
    wait = math.max(wait, hold[2] - now)
  end
end
local answer
local memory, lease = tonumber(ARGV[4]), tonumber(ARGV[1])
if foreign then
  answer = -3 - call('pttl', lock)
elseif holds[owner] then
  answer = -1
  lease, memory = lease + (ARGV[5] or 0), memory + (ARGV[5] or 0)
elseif writes(owner) and holds[base] then
  answer = -9000000000000000
elseif wait > 0 then
  answer = -3 - wait
else
  answer = call('incr', KEYS[2])
  if answer == 1 then
    answer = time[1] * 10000 + math.floor(time[2] / 100)
    call('set', KEYS[2], answer, 'px', 86400000)
  end
end
call('set', KEYS[3], ARGV[3] .. string.format('%.0f', answer), 'px', memory)
if answer >= -1 then
  local hold = holds[owner] or {0, 0}
  store(lock, holds, owner, {hold[1] + 1, math.max(hold[2], now + lease)})
end
return answer
