-- After once.lua and permits_state.lua. ARGV: 4 permit; 5 anything: of an acquire that nobody wants any more.
-- 1: given back. 0: unknown, or its deadline was over.
free()
local given = call('zrem', KEYS[1], ARGV[4])
if given == 1 then
  publish(ARGV[3])
end
return answer(given)
