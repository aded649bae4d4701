-- KEYS: 1 lock. ARGV: 1 owner, a writer's ends in :write; or :read or :write for anybody.
-- How often it holds the lock; 1: somebody does.
local call = redis.call
if ARGV[1] == ':read' or ARGV[1] == ':write' then
  local mode = call('hget', KEYS[1], 'mode')
  if mode == 'write' then
    return (ARGV[1] == ':write' or call('hlen', KEYS[1]) > 2) and 1 or 0
  end
  return mode == 'read' and ARGV[1] == ':read' and 1 or 0
end
return tonumber(call('hget', KEYS[1], ARGV[1]) or 0)
