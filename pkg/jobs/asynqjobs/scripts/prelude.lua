-- Put in front of every script.
--
-- A claim is kept as "attempt|uid|till|worker". Till is the Redis time in
-- milliseconds when the lease ends, or one of two marks: the worker gave the
-- attempt back, or it committed and the aggregator has not stored it yet. The
-- mark of a returned attempt keeps a beat that was under way from restoring the
-- claim.
local RETURNED, COMMITTED = 0, 1

-- How far a committed record has come, by its uid, until its worker has let go of
-- it.
local UNDERWAY, STORED = 'underway', 'stored'

-- Only the clock of Redis counts, so the clocks of workers may be wrong.
local function lease_end(lease)
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(lease)
end

local function claim_of(claims, ordinal)
  local v = redis.call('HGET', claims, ordinal)
  if not v then
    return nil
  end
  local attempt, uid, till = string.match(v, '^(%d+)|([^|]*)|(%d+)|')
  return {attempt = tonumber(attempt), uid = uid, till = tonumber(till)}
end

local function set_claim(claims, ordinal, attempt, uid, till, worker)
  redis.call('HSET', claims, ordinal, string.format('%d', attempt) .. '|' .. uid .. '|' .. string.format('%.0f', till) .. '|' .. worker)
end

-- Is the trial in the hands of a later attempt? Redis may have forgotten which
-- one is current; a claim tells too, unless it was given back.
local function later(c, attempt)
  return c and c.attempt > attempt and c.till ~= RETURNED
end

-- The first attempt is current without being written down.
local function current_of(current, ordinal)
  return tonumber(redis.call('HGET', current, ordinal) or '1')
end

-- The bit says that the current attempt is done, so it goes with a new one.
local function set_current(current, done, ordinal, attempt, keep)
  redis.call('HSET', current, ordinal, attempt)
  redis.call('EXPIRE', current, keep)
  if redis.call('GETBIT', done, ordinal) == 1 then
    redis.call('SETBIT', done, ordinal, 0)
  end
end
