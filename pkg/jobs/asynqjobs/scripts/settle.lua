-- Forgets stream entries whose records are stored, and the marks that their
-- commits left. Who keeps such a record is told that it is stored.
-- KEYS: stream, and for each entry: claims, passages
-- ARGV: group, and for each entry: its id, ordinal, attempt, uid
local stream, group = KEYS[1], ARGV[1]

for n = 2, #KEYS, 2 do
  local claims, passages, i = KEYS[n], KEYS[n + 1], n * 2 - 2
  local id, ordinal, attempt, uid = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3]
  redis.call('XACK', stream, group, id)
  redis.call('XDEL', stream, id)
  local c = claim_of(claims, ordinal)
  if c and c.attempt == attempt and c.uid == uid and c.till == COMMITTED then
    redis.call('HDEL', claims, ordinal)
  end
  if redis.call('HEXISTS', passages, uid) == 1 then
    redis.call('HSET', passages, uid, STORED)
  end
end
return 1
