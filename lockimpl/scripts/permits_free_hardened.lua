-- After permits_state.lua. How many permits are free; fewer than 0 if their number was lowered.
return free() or 0
