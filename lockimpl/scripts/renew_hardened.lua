-- KEYS: 2i-1 lock, 2i its owner's last request.
-- ARGV: 1 lease in ms, 2 ms to remember the request, 2i+1 owner, 2i+2 number of the last request
-- that the client knows answered (16 digits).
-- For each lock 1: lease reset, 0: not held by the owner, 2: nothing done, since the owner made a
-- later request (so that a renewal that was delayed cannot lengthen a lease that is not its own).
-- A key of another type is not held, and must not keep the other locks from being renewed.
local call, pcall = redis.call, redis.pcall
local answers = {}
for i = 1, #KEYS / 2 do
  local lock, record = KEYS[2 * i - 1], KEYS[2 * i]
  if pcall('hexists', lock, ARGV[2 * i + 1]) == 1 then
    local last = call('get', record)
    if last and string.sub(last, 1, 16) > ARGV[2 * i + 2] then
      answers[i] = 2
    else
      call('pexpire', lock, ARGV[1])
      call('pexpire', record, ARGV[2])
      answers[i] = 1
    end
  else
    answers[i] = 0
  end
end
return answers
