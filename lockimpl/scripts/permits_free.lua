-- After permits_reclaim.lua. How many permits are free.
reclaim(1000)
return tonumber(call('get', KEYS[1]) or 0)
