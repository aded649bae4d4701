-- After rw_state.lua. What scripts need that change what is held.
-- Writes one hold, nil: none, and has the key end with the last of them. False: none is left.
local function store(lock, holds, owner, hold)
  holds[owner] = hold
  if hold then
    call('hset', lock, 'mode', 'holdfast', owner, string.format('%d %.0f', hold[1], hold[2]))
  else
    call('hdel', lock, owner)
  end
  local last = 0
  for _, h in pairs(holds) do
    last = math.max(last, h[2])
  end
  if last == 0 then
    call('hdel', lock, 'mode') -- with its last field the key goes
    return false
  end
  call('pexpireat', lock, string.format('%.0f', last))
  return true
end
