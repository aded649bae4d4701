-- After rw_state.lua. As rw_ask.lua.
local holds, foreign = load(lock)
if foreign then
  return 0
end
if ARGV[1] == ':read' or ARGV[1] == ':write' then
  for owner in pairs(holds) do
    if writes(owner) == (ARGV[1] == ':write') then
      return 1
    end
  end
  return 0
end
return holds[ARGV[1]] and holds[ARGV[1]][1] or 0
