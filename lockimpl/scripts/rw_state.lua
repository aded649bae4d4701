-- The beginning of scripts of the hardened read-write lock: KEYS[1] is the lock, a hash from owner (a
-- writer's ends in ":write") to "<count> <deadline>", in ms of the server's clock. Its field "mode" is
-- "holdfast": other programs know "read" and "write" and wait for any other to end.
local call = redis.call
local lock = KEYS[1]
local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function writes(owner)
  return string.sub(owner, -6) == ':write'
end
-- The live holds, owner to {count, deadline}; others are removed. foreign: the lock is not of this form.
local function load(lock)
  local holds, foreign = {}, false
  local all = call('hgetall', lock)
  for i = 1, #all, 2 do
    local count, deadline = string.match(all[i + 1], '^(%d+) (%d+)$')
    if count and tonumber(deadline) > now then
      holds[all[i]] = {tonumber(count), tonumber(deadline)}
    elseif count then
      call('hdel', lock, all[i])
    elseif all[i] ~= 'mode' or all[i + 1] ~= 'holdfast' then
      foreign = true
    end
  end
  return holds, foreign
end
