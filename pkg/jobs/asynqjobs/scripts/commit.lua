-- Puts a record on the result stream and ends the claim. A record of an attempt
-- that was superseded goes there too: what it cost is real. One that is on the
-- stream already, or stored, does not go there again.
-- KEYS: claims, current, done, passages, stream
-- ARGV: ordinal, attempt, uid, worker, record, seconds to keep the keys
local claims, current, done, passages, stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ordinal, attempt, uid, worker, record, keep = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local passage = redis.call('HGET', passages, uid)
if not passage then
  redis.call('XADD', stream, '*', 'record', record)
  redis.call('HSET', passages, uid, UNDERWAY)
  redis.call('EXPIRE', passages, keep)
end
local c = claim_of(claims, ordinal)
local now_current = current_of(current, ordinal)
if attempt < now_current or later(c, attempt) then
  return 1
end
if attempt > now_current then
  set_current(current, done, ordinal, attempt, keep)
end
redis.call('SETBIT', done, ordinal, 1)
redis.call('EXPIRE', done, keep)
if passage == STORED then
  if c then
    redis.call('HDEL', claims, ordinal)
  end
  return 1
end
set_claim(claims, ordinal, attempt, uid, COMMITTED, worker)
redis.call('EXPIRE', claims, keep)
return 1
