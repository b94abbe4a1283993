-- Puts a record on the result stream and ends the claim. A record of an attempt
-- that was superseded goes there too: what it cost is real.
-- KEYS: claims, current, done, stream
-- ARGV: ordinal, attempt, uid, worker, record, seconds to keep the keys
local claims, current, done, stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ordinal, attempt, uid, worker, record, keep = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local c = claim_of(claims, ordinal)
if c and c.attempt == attempt and c.uid == uid and c.till == COMMITTED then
  return 0 -- sent again
end
redis.call('XADD', stream, '*', 'record', record)
local now_current = current_of(current, ordinal)
if attempt < now_current or later(c, attempt) then
  return 1
end
if attempt > now_current then
  set_current(current, done, ordinal, attempt, keep)
end
redis.call('SETBIT', done, ordinal, 1)
redis.call('EXPIRE', done, keep)
set_claim(claims, ordinal, attempt, uid, COMMITTED, worker)
redis.call('EXPIRE', claims, keep)
return 1
