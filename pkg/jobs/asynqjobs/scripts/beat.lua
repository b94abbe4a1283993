-- Shows that a worker lives, renews its claims of one run, and brings back what
-- a person wants of the run and, for each claim, whether it is superseded.
-- KEYS: workers, and with claims also: claims, current, done, control
-- ARGV: worker, slots, lease in ms, seconds to keep the keys, capabilities, and for each claim: ordinal, attempt, uid
local workers, claims, current, done, control = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local worker, slots, lease, keep = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local till = lease_end(lease)
if slots > 0 then
  redis.call('HSET', workers, worker, string.format('%.0f|%d|', till, slots) .. ARGV[5])
  redis.call('EXPIRE', workers, keep)
else
  redis.call('HDEL', workers, worker)
end
if not claims then
  return {'run'}
end

local words = {redis.call('GET', control) or 'run'}
for i = 6, #ARGV, 3 do
  local ordinal, attempt, uid = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
  local now_current = current_of(current, ordinal)
  local c = claim_of(claims, ordinal)
  if c and c.attempt == attempt and c.till == RETURNED and c.uid ~= uid then
    c = nil -- somebody else's, as if it had never been
  end
  local ours
  if attempt < now_current or later(c, attempt) then
    ours = false
  elseif c and c.attempt == attempt then
    ours = c.uid == uid and c.till ~= RETURNED and c.till ~= COMMITTED
  else
    -- Redis forgot the claim, unless the attempt was finished.
    ours = attempt > now_current or redis.call('GETBIT', done, ordinal) == 0
  end
  if ours then
    if attempt > now_current then
      set_current(current, done, ordinal, attempt, keep)
    end
    set_claim(claims, ordinal, attempt, uid, till, worker)
    words[#words + 1] = '0'
  else
    words[#words + 1] = '1'
  end
end
redis.call('EXPIRE', claims, keep)
redis.call('EXPIRE', current, keep)
redis.call('EXPIRE', done, keep)
return words
