-- Asks for a permit.
-- KEYS: state, leases, charges, turns
-- ARGV: permit, input, output, lease in ms, and the rate
-- Returns whether it is granted, how long to wait in ms, why, and the time.
local state, leases, charges, turns = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local permit, input, output, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local rate = rate_from(5)
local AGE, SILENT = 2000, 1500

local now = clock()
if redis.call('ZSCORE', leases, permit) then
  redis.call('ZADD', leases, now + lease, permit)
  return {1, 0, '', now}
end
local s = load(state)
local limits = show(s, rate, now)

local function wait(ms, why)
  save(s, now)
  return {0, math.ceil(ms), why, now}
end

local paused = get(s, 'paused', 0)
if paused > now then
  return wait(paused - now, 'pause')
end

-- The holders of these have crashed. What they were charged stays charged.
local dead = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, 100)
if #dead > 0 then
  redis.call('ZREM', leases, unpack(dead))
  redis.call('HDEL', charges, unpack(dead))
end

local n = redis.call('ZCARD', leases)
if limits.c > 0 then
  -- A process whose calls end lets its next one ask at once, and others only look
  -- from time to time. The one that has been looking for the longest gets the last
  -- place, lest it starve. Who does not come back has given up.
  local eldest = redis.call('ZRANGE', turns, 0, 0, 'WITHSCORES')
  while eldest[1] and eldest[1] ~= permit and get(s, 'eldest_seen', 0) + SILENT < now do
    redis.call('ZREM', turns, eldest[1])
    put(s, 'eldest_seen', now)
    eldest = redis.call('ZRANGE', turns, 0, 0, 'WITHSCORES')
  end
  local yields = eldest[1] and eldest[1] ~= permit and n + 1 >= limits.c and tonumber(eldest[2]) + AGE <= now
  if n >= limits.c or yields then
    if not eldest[1] or eldest[1] == permit then
      put(s, 'eldest_seen', now)
    end
    if not redis.call('ZSCORE', turns, permit) then
      redis.call('ZADD', turns, now, permit)
    end
    redis.call('PEXPIRE', turns, HOUR)
    if n >= limits.c * IN_USE then
      put(s, 'full_at', now)
    end
    return wait(0, 'in_flight')
  end
end

-- All or nothing.
local need = {r = 1, t = input + output, i = input, o = output}
local full, every = {}, {}
local longest, why = 0, nil
for _, b in ipairs({'r', 't', 'i', 'o'}) do
  local limit = limits[b]
  every[b] = limit > 0 and 60000 / limit or 0
  if limit > 0 and need[b] > 0 then
    local holds = burst(b, limits)
    local at = math.max(get(s, b, 0), now)
    -- What is larger than the bucket passes when that is full, and leaves a debt.
    local ms = at + math.min(need[b], holds) * every[b] - now - holds * every[b]
    if ms > 0.01 and ms > longest then
      longest, why = ms, b == 'r' and 'requests' or 'tokens'
    end
    full[b] = at + need[b] * every[b]
  end
end
if why then
  return wait(longest, why)
end

for b, at in pairs(full) do
  put(s, b, at)
end
if limits.c > 0 and n + 1 >= limits.c * IN_USE then
  put(s, 'full_at', now)
end
put(s, 'calls', get(s, 'calls', 0) + 1)
put(s, 'passes', get(s, 'passes', 0) + 1)
local second = math.floor(now / 1000)
local before = get(s, 'second', 0)
if second ~= before then
  put(s, 'passes_before', second == before + 1 and get(s, 'passes_now', 0) or 0)
  put(s, 'passes_now', 0)
  put(s, 'second', second)
end
put(s, 'passes_now', get(s, 'passes_now', 0) + 1)
redis.call('ZADD', leases, now + lease, permit)
redis.call('HSET', charges, permit, string.format('%.0f|%.0f|%.0f|%.6f|%.6f|%.6f', now, input, output, every.t, every.i, every.o))
redis.call('ZREM', turns, permit)
redis.call('PEXPIRE', leases, HOUR)
redis.call('PEXPIRE', charges, HOUR)
save(s, now)
return {1, 0, '', now}
