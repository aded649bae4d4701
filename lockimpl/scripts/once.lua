-- The beginning of scripts that take effect once for each request: KEYS[2] is the record of the last
-- request of a slot. ARGV: 1 request number (16 digits), 2 ms to remember it, 3 channel.
-- A copy of the last request gets its answer; a copy of one before that is an error.
local call = redis.call
local last = call('get', KEYS[2])
if last and last >= ARGV[1] then -- for numbers have equally many digits
  if string.sub(last, 1, 16) > ARGV[1] then
    return redis.error_reply('SUPERSEDED by a later request')
  end
  return tonumber(string.sub(last, 17))
end
local function answer(n)
  call('set', KEYS[2], ARGV[1] .. n, 'px', ARGV[2])
  return n
end
