-- After once.lua and permits_state.lua. ARGV: 4 lease in ms, 0: none, 5 permit. 1: set. 0: unknown, or over.
free()
if not call('zscore', KEYS[1], ARGV[5]) then
  return answer(0)
end
call('zadd', KEYS[1], deadline(ARGV[4]), ARGV[5])
return answer(1)
