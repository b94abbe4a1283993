-- Forgets stream entries whose records are stored, and the marks that their
-- commits left.
-- KEYS: stream, and for each entry: claims
-- ARGV: group, and for each entry: its id, ordinal, attempt, uid
local stream, group = KEYS[1], ARGV[1]

for n = 2, #KEYS do
  local i = 2 + (n - 2) * 4
  local id, ordinal, attempt, uid = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3]
  redis.call('XACK', stream, group, id)
  redis.call('XDEL', stream, id)
  local c = claim_of(KEYS[n], ordinal)
  if c and c.attempt == attempt and c.uid == uid and c.till == COMMITTED then
    redis.call('HDEL', KEYS[n], ordinal)
  end
end
return 1
