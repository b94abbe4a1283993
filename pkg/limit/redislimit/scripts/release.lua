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
local UNDER, LESS = 0.95, 0.9   -- the pace below what passed, or below the pace
local FEW = 10                  -- calls that tell little
local HELD = 10000              -- how long a pace must hold to be nearly right
local CLEAN = 3000              -- how long it must be clean to grow
local STEP, ROUGH = 0.01, 0.04  -- the part by which it grows, and at first
local STEEPER, STEEPEST = 1.2, 0.1   -- by how much more each time, and at most

local charge = redis.call('HGET', charges, permit)
redis.call('ZREM', leases, permit)
redis.call('HDEL', charges, permit)
redis.call('ZREM', turns, permit)
local now = clock()
local s = load(state)

local function remember(why)
  local l = in_force(s, rate, now)
  put(s, 'shown_r', l.r)
  redis.call('RPUSH', history, string.format('%.0f|%.0f|%.3f|%s', now, l.c, l.r, why))
  redis.call('LTRIM', history, -HISTORY, -1)
  redis.call('PEXPIRE', history, HOUR)
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
      local every, holds = 60000 / l, burst(b, in_force(s, rate, now))
      if remaining < holds then
        put(s, b, math.max(get(s, b, 0), now + (holds - remaining) * every))
      end
    end
  end
end
if news then -- nobody needs to find it out
  put(s, 'pace', nil)
  put(s, 'told_new', now)
  remember('told')
end

-- The pace after a refusal. Between two refusals the bucket of the provider is
-- empty at either end, so what passed in between, over the time, is the rate that
-- it allows. Later its bucket may have been full at times, and then that is too
-- little; but a pace that has held for so long is nearly right. The first one is a
-- guess from above: one refusal is little to go by.
local function slower(pace, asked)
  if not pace then
    local passed, since = get(s, 'passes_now', 0), get(s, 'second', 0)
    if get(s, 'passes_before', 0) > 0 then
      passed, since = passed + get(s, 'passes_before'), since - 1
    end
    local first = UNDER * math.max(FEW, (passed - 1) * 1000 / math.max(1000, now - since * 1000)) * 60
    return asked > 0 and math.min(first, asked * LESS) or first
  end
  if now - get(s, 'since', 0) >= HELD then
    put(s, 'rough', 0)
    return pace * LESS
  end
  local n = get(s, 'passes', 0)
  local passed = UNDER * n * 60000 / math.max(1, now - get(s, 'from', 0))
  return math.min(pace * LESS, n < FEW and math.max(passed, pace / 4) or passed)
end

-- True if the pace was cut. Calls that were under way at the last cut tell what was
-- wrong before it, and so do those from before the provider told its limit.
local function too_fast()
  if at <= get(s, 'from', 0) or at <= get(s, 'told_new', 0) then
    return false
  end
  put(s, 'passes', math.max(0, get(s, 'passes', 0) - 1))
  -- Where nothing has passed since the last cut, nothing new is told: that is one
  -- episode, until it has lasted.
  if get(s, 'pace') and get(s, 'passes') == 0 and now - get(s, 'since', 0) < HELD then
    return false
  end
  put(s, 'pace', math.max(1, slower(get(s, 'pace'), in_force(s, rate, now).asked)))
  put(s, 'step', get(s, 'rough', 1) == 1 and ROUGH or STEP)
  put(s, 'from', now)
  put(s, 'passes', 0)
  put(s, 'since', now + pause)
  put(s, 'grown', now + pause)
  put(s, 'grown_passes', 0)
  -- The bucket of the provider is empty, so ours is.
  local l = in_force(s, rate, now)
  put(s, 'r', math.max(get(s, 'r', 0), now + burst('r', l) * 60000 / l.r))
  return true
end

-- True if the bound of calls in flight was cut.
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

-- True if a round has passed in which the bound of calls in flight grew. At first
-- each success lets in one more, which doubles them without letting in many at once;
-- rounds take their time then, since a provider may take some to notice.
local function more_calls()
  local c, steep = get(s, 'found', FIRST), get(s, 'steep', 1) == 1
  if now < get(s, 'calm', 0) or get(s, 'full_at', 0) < at or c >= MOST then
    return false
  end
  local round = get(s, 'round', 0) + 1
  if round == 1 then
    put(s, 'base', c)
    put(s, 'round_at', at)
  end
  local base = get(s, 'base', c)
  if steep and round <= base then
    c = c + 1
  end
  local over = round >= base and (not steep or now - get(s, 'round_at', now) >= ROUND)
  if over and not steep then
    c = c + math.max(1, math.floor(c * 0.05))
  end
  put(s, 'found', math.min(MOST, c))
  put(s, 'round', over and 0 or round)
  return over
end

-- True if it grew by much since somebody was last shown.
local function more_pace()
  local pace, grown = get(s, 'pace'), get(s, 'grown', 0)
  if not pace or now - grown < CLEAN then
    return false
  end
  local passes = get(s, 'passes', 0)
  local used = (passes - get(s, 'grown_passes', 0)) * 60000 / (now - grown)
  put(s, 'grown', now)
  put(s, 'grown_passes', passes)
  if used < pace * IN_USE then
    return false
  end
  local step = get(s, 'step', STEP)
  pace = pace * (1 + step)
  put(s, 'step', math.min(STEEPEST, step * STEEPER))
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
  local cut, fewer = too_fast(), false
  if finds_calls(rate) then
    fewer = too_many()
  end
  if cut or fewer then
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
