-- KEYS: locks. ARGV: 1 lease in ms, i+1 owner of KEYS[i].
-- For each lock 1: lease reset, 0: not held by the owner. A key of another type is not held, and
-- must not keep the other locks from being renewed: hence pcall.
local answers = {}
for i = 1, #KEYS do
  if redis.pcall('hexists', KEYS[i], ARGV[i + 1]) == 1 then
    redis.call('pexpire', KEYS[i], ARGV[1])
    answers[i] = 1
  else
    answers[i] = 0
  end
end
return answers
