-- Gives a permit back and learns from what its call came to. A permit that is not
-- held tells only what may be told twice: the pause and the limits.
-- KEYS: state, leases, charges, turns, history
-- ARGV: permit, input, output, throttled, failed, pause in ms, the rate, and for
-- requests, tokens, those in and those out: limit, remaining
local state, leases, charges, turns, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local permit, input, output = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local throttled, failed, pause = ARGV[4] == '1', ARGV[5] == '1', math.min(tonumber(ARGV[6]), DAY)
local rate = rate_from(7)
local HISTORY = 50

local charge = redis.call('HGET', charges, permit)
redis.call('ZREM', leases, permit)
redis.call('HDEL', charges, permit)
redis.call('ZREM', turns, permit)
local now = clock()
local s = load(state)
count_time(s, now)

local function remember(why)
  local l = in_force(s, rate, now)
  put(s, 'shown_r', l.r)
  redis.call('RPUSH', history, string.format('%.0f|%.0f|%.3f|%s', now, l.c, l.r, why))
  redis.call('LTRIM', history, -HISTORY, -1)
  redis.call('PEXPIRE', history, HOUR)
end

-- The period of the pace begins anew. Callers that were waiting still are.
local function begin()
  put(s, 'was_from', get(s, 'from', 0))
  put(s, 'was_ms', get(s, 'ms', 0))
  put(s, 'was_passes', get(s, 'passes', 0))
  put(s, 'from', now)
  put(s, 'ms', 0)
  put(s, 'passes', 0)
end

local at
if charge then
  local granted, was_in, was_out, et, ei, eo = string.match(charge, '^(%d+)|(%d+)|(%d+)|([%d.]+)|([%d.]+)|([%d.]+)$')
  at = tonumber(granted)
  local more_in = input >= 0 and input - was_in or 0
  local more_out = output >= 0 and output - was_out or 0
  local function correct(b, more, every)
    if more ~= 0 and tonumber(every) > 0 and get(s, b) then
      put(s, b, get(s, b) + more * every)
    end
  end
  correct('t', more_in + more_out, et)
  correct('i', more_in, ei)
  correct('o', more_out, eo)
end

if pause > 0 then
  put(s, 'paused', math.max(get(s, 'paused', 0), now + pause))
end

-- What the provider tells of its limits. It can only make less of what is
-- configured.
local news = false
for n, b in ipairs({'r', 't', 'i', 'o'}) do
  local limit, remaining = tonumber(ARGV[10 + n * 2]), tonumber(ARGV[11 + n * 2])
  local told, told_at = 'told_' .. b, 'told_' .. b .. '_at'
  if limit > 0 then
    local before = get(s, told_at, 0) + TOLD_FOR > now and get(s, told) or nil
    local after = nil
    if rate[b] == 0 or limit < rate[b] then
      after = limit
    end
    put(s, told, after)
    put(s, told_at, after and now or nil)
    if b == 'r' and before ~= after then
      news = true
    end
    local l = in_force(s, rate, now)[b]
    if remaining >= 0 and l > 0 then
      local every, holds = 60000 / l, burst(b, l)
      if remaining < holds then
        put(s, b, math.max(get(s, b, 0), now + (holds - remaining) * every))
      end
    end
  end
end
if news then -- nobody needs to find it out
  put(s, 'pace', nil)
  put(s, 'told_new', now)
  begin()
  remember('told')
end

local function too_fast()
  -- Calls that were under way at the last cut tell what was wrong before it.
  if at <= get(s, 'told_new', 0) then
    return false
  end
  local from = get(s, 'from', 0)
  if at <= from then
    if get(s, 'pace') and at > get(s, 'was_from', 0) then
      put(s, 'was_passes', math.max(0, get(s, 'was_passes', 0) - 1))
      local ms = get(s, 'was_ms', 0)
      if get(s, 'was_passes') > 0 and ms > 0 then
        put(s, 'pace', math.min(get(s, 'pace'), math.max(1, UNDER * get(s, 'was_passes') * 60000 / ms)))
      end
    end
    return false
  end
  put(s, 'passes', math.max(0, get(s, 'passes', 0) - 1))
  local ms = math.max(1, get(s, 'ms', 0))
  local passed = get(s, 'passes') * 60000 / ms
  if passed == 0 then -- it is less than one in this time
    passed = math.min(get(s, 'pace', 60000 / ms), 60000 / ms) / 2
  end
  put(s, 'pace', math.max(1, UNDER * passed))
  put(s, 'step', STEP)
  put(s, 'grown', now + pause)
  begin()
  -- The bucket of the provider is empty, so ours is.
  local l = in_force(s, rate, now).r
  put(s, 'r', math.max(get(s, 'r', 0), now + burst('r', l) * 60000 / l))
  return true
end

local function too_many()
  put(s, 'steep', 0)
  put(s, 'round', 0)
  put(s, 'calm', math.max(get(s, 'calm', 0), now + math.max(COOL, pause)))
  -- A bound that was not in use is not what was wrong.
  if now < get(s, 'cool', 0) or at <= get(s, 'cut_at', 0) or get(s, 'full_at', 0) < at then
    return false
  end
  put(s, 'found', math.max(1, math.floor(get(s, 'found', FIRST) * CUT)))
  put(s, 'cut_at', now)
  put(s, 'cool', now + math.max(COOL, pause))
  return true
end

-- True if it grew.
local function more_calls()
  if now < get(s, 'calm', 0) or get(s, 'full_at', 0) < at then
    return false
  end
  local c = get(s, 'found', FIRST)
  local round = get(s, 'round', 0) + 1
  if round < c then
    put(s, 'round', round)
    return false
  end
  put(s, 'round', 0)
  local grown = get(s, 'steep', 1) == 1 and c * 2 or c + math.max(1, math.floor(c * 0.05))
  put(s, 'found', math.min(MOST, grown))
  return grown <= MOST
end

-- True if it grew by much since somebody was last shown.
local function more_pace()
  local pace, grown = get(s, 'pace'), get(s, 'grown', 0)
  if not pace or now - grown < CLEAN or get(s, 'paced_at', 0) < grown then
    return false
  end
  local step = get(s, 'step', STEP)
  pace = pace * (1 + step)
  put(s, 'step', math.min(STEEPEST, step * STEEPER))
  put(s, 'grown', now)
  local asked = in_force(s, rate, now).asked
  if asked > 0 and pace >= asked then
    put(s, 'pace', nil)
    return true
  end
  put(s, 'pace', pace)
  return pace > get(s, 'shown_r', 0) * 1.1
end

if charge and throttled then
  put(s, 'refused', get(s, 'refused', 0) + 1)
  local slower, fewer = too_fast(), false
  if finds_calls(rate) then
    fewer = too_many()
  end
  if slower or fewer then
    remember('rate_limited')
  end
elseif charge and not failed then
  local faster, more = more_pace(), false
  if finds_calls(rate) then
    more = more_calls()
  end
  if faster or more then
    remember('grow')
  end
end
show(s, rate, now)
save(s, now)
return 1
