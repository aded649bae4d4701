-- After rw_store.lua. KEYS and ARGV as those of force_hardened.lua; the message 0 frees the lock from
-- readers, 1 from a writer.
local answer = call('get', KEYS[3])
if answer then
  return tonumber(answer)
end
local holds, foreign = load(lock)
local freed = 0
for owner in pairs(holds) do
  if not foreign and writes(owner) == (ARGV[1] == '1') then
    freed = 1
    call('hdel', lock, owner)
    holds[owner] = nil
  end
end
if freed == 1 then
  store(lock, holds, '', nil)
  call('publish', KEYS[2], '1')
end
call('set', KEYS[3], freed, 'px', ARGV[2])
return freed
