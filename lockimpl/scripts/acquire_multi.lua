-- All of several locks, or none. KEYS: for each lock 3i-2 lock, 3i-1 token counter, 3i the owner's
-- last request on it. ARGV: 1 to 5 as for acquire_hardened, 5+i lease of lock i in ms if the owner
-- holds it already.
-- {1, token, ...}: acquired. {0, i, ms}: lock i is held by another for so long (-1: no expiry).
-- {-1}: superseded by a later request of the owner.
-- Idempotent: a copy of a request that was executed gets the first answer (if that was a refusal,
-- as if of the first lock), or superseded.
local request = tonumber(ARGV[3])
local n = #KEYS / 3
local tokens, repeated = {1}, nil
for i = 1, n do
  local record = redis.call('get', KEYS[3 * i])
  local token = '0'
  if record then
    local last, answer, of = string.match(record, '^(%d+):(-?%d+):(%d+)$')
    if tonumber(last) > request then
      return {-1}
    elseif tonumber(last) == request then
      repeated = tonumber(answer)
      if repeated <= 0 then
        return {0, i, -2 - repeated}
      end
    end
    token = of
  end
  tokens[i + 1] = token
end
if repeated then
  for i = 1, n do
    tokens[i + 1] = tonumber(tokens[i + 1])
  end
  return tokens
end
for i = 1, n do
  local ttl = redis.call('pttl', KEYS[3 * i - 2])
  if ttl == -2 then
    tokens[i + 1] = '0'
  elseif redis.call('hexists', KEYS[3 * i - 2], ARGV[2]) == 0 then
    if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
      redis.call('set', KEYS[3], ARGV[3] .. ':' .. -2 - ttl .. ':0', 'px', ARGV[4])
    end
    return {0, i, ttl}
  end
end
for i = 1, n do
  local token = tokens[i + 1]
  local lease = ARGV[1]
  if redis.call('exists', KEYS[3 * i - 2]) == 1 then
    lease = ARGV[5 + i]
  end
  if token == '0' then
    local count = redis.call('incr', KEYS[3 * i - 1])
    if count == 1 and ARGV[5] ~= '0' then
      local now = redis.call('time')
      token = now[1] .. string.format('%06d', tonumber(now[2]))
      redis.call('set', KEYS[3 * i - 1], token, 'px', ARGV[5])
    else
      token = string.format('%.0f', count)
    end
  end
  redis.call('hincrby', KEYS[3 * i - 2], ARGV[2], 1)
  redis.call('pexpire', KEYS[3 * i - 2], lease)
  redis.call('set', KEYS[3 * i], ARGV[3] .. ':' .. token .. ':' .. token, 'px', lease + ARGV[4])
  tokens[i + 1] = tonumber(token)
end
return tokens
