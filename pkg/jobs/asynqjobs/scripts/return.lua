-- Gives a claimed attempt back.
-- KEYS: claims
-- ARGV: ordinal, attempt, uid, worker, seconds to keep the keys
local claims = KEYS[1]
local ordinal, attempt, uid, worker, keep = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

local c = claim_of(claims, ordinal)
if not c or (c.attempt == attempt and c.uid == uid and c.till ~= COMMITTED) then
  set_claim(claims, ordinal, attempt, uid, RETURNED, worker)
  redis.call('EXPIRE', claims, keep)
end
return 1
