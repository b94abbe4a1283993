-- Asks for an attempt.
-- KEYS: claims, current, done, control
-- ARGV: ordinal, attempt, uid, worker, lease in ms, seconds to keep the keys
local claims, current, done, control = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ordinal, attempt, uid, worker, lease, keep = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local now_current = current_of(current, ordinal)
if attempt < now_current then
  return 'refused'
end
local c = claim_of(claims, ordinal)
if later(c, attempt) then
  return 'refused'
end
if c and c.attempt == attempt and c.till ~= RETURNED then
  -- Claimed before, however long ago. The same uid is the same claim, sent again.
  if c.uid ~= uid or c.till == COMMITTED then
    return 'refused'
  end
elseif attempt == now_current and redis.call('GETBIT', done, ordinal) == 1 then
  return 'refused'
else
  local wanted = redis.call('GET', control)
  if wanted == 'cancel' then
    return 'dropped'
  elseif wanted == 'pause' then
    return 'held'
  end
end
if attempt > now_current then
  set_current(current, done, ordinal, attempt, keep)
end
set_claim(claims, ordinal, attempt, uid, lease_end(lease), worker)
redis.call('EXPIRE', claims, keep)
return 'granted'
