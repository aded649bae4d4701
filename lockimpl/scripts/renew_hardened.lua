-- KEYS: 2i-1 lock, 2i its owner's last request.
-- ARGV: 1 lease in ms, 2 ms to remember the request, 2i+1 owner, 2i+2 number of the last request
-- that the client knows answered (16 digits).
-- For each lock 1: the lease lasts that long or longer, 0: not held by the owner, 2: nothing done,
-- since the owner made a later request (so that a renewal that was delayed cannot lengthen a lease
-- that is not its own).
-- A renewal does not shorten: a call may have asked for longer. A key without an end gets one.
-- A key of another type is not held, and must not keep the other locks from being renewed.
local call, pcall = redis.call, redis.pcall
local function lengthen(key, ms)
  if call('pttl', key) < tonumber(ms) then -- -1: no end, which no call asks for
    call('pexpire', key, ms)
  end
end
local answers = {}
for i = 1, #KEYS / 2 do
  local lock, record = KEYS[2 * i - 1], KEYS[2 * i]
  if pcall('hexists', lock, ARGV[2 * i + 1]) == 1 then
    local last = call('get', record)
    if last and string.sub(last, 1, 16) > ARGV[2 * i + 2] then
      answers[i] = 2
    else
      lengthen(lock, ARGV[1])
      lengthen(record, ARGV[2])
      answers[i] = 1
    end
  else
    answers[i] = 0
  end
end
return answers
