-- Ends the claim of an attempt whose record is stored already, whoever holds it.
-- KEYS: claims, current, done
-- ARGV: ordinal, attempt, seconds to keep the keys
local claims, current, done = KEYS[1], KEYS[2], KEYS[3]
local ordinal, attempt, keep = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local now_current = current_of(current, ordinal)
local c = claim_of(claims, ordinal)
if attempt < now_current or later(c, attempt) then
  return 0
end
if attempt > now_current then
  set_current(current, done, ordinal, attempt, keep)
end
redis.call('SETBIT', done, ordinal, 1)
redis.call('EXPIRE', done, keep)
if c then
  redis.call('HDEL', claims, ordinal)
end
return 1
