-- KEYS: locks. ARGV: 1 lease in ms, i+1 owner of KEYS[i].
-- For each lock 1: lease reset, 0: not held by the owner. A key of another type ends the script with an error: the
-- locks before it are renewed, those after it are not.
local answers = {}
for i = 1, #KEYS do
  answers[i] = redis.call('hexists', KEYS[i], ARGV[i + 1])
  if answers[i] == 1 then
    redis.call('pexpire', KEYS[i], ARGV[1])
  end
end
return answers
