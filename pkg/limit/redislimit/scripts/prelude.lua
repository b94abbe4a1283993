-- Put in front of every script.
--
-- State is a HASH of numbers. All times are those of Redis, in milliseconds.
--
-- r, t, i, o    when the bucket of requests, of tokens, of those in, of those out is
--               full again: one number a bucket is all that a rate needs
-- paused        until when the provider wants everybody to wait
-- calls, refused   in all
-- told_r, told_r_at …   the limit that the provider told, when it last did
-- told_new      when the told limit of requests last changed
--
-- What is found out about calls in flight:
-- found         how many there may be
-- steep         0 since the first refusal: they do not double any more
-- base, round, round_at   how many there were at the begin of the round, successes
--               in it, and when the first of its calls was let through
-- full_at       when they last were nearly all in use
-- cut_at, cool  when they were last cut, and until when they are not cut again
-- calm          until when they do not grow
--
-- What is found out about requests a minute:
-- pace          how many, absent before the first refusal
-- since         when it was last cut, and the pause was over
-- step          the part by which it grows next
-- grown, grown_passes   when it last might have, and passes by then
-- rough         0 since it has once held for a while
-- from, passes  when it was last cut, and what was let through since and not refused
-- second, passes_now, passes_before   a second, what was let through in it, and in
--               the one before
--
-- in_force_c, in_force_r, adaptive   what people are shown
local HOUR, DAY = 3600000, 86400000
local TOLD_FOR = 600000       -- how long a told limit is believed
local FIRST, MOST = 4, 1000   -- calls in flight, to begin with and at most
local IN_USE = 0.8            -- the part of them that must be in use to count
local CUT, COOL = 0.8, 15000  -- what a cut leaves of them, and the least time between two
local ROUND = 2000            -- the shortest round in which they double
local JITTER = 0.03           -- seconds by which callers come late

local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function load(key)
  local s, flat = {}, redis.call('HGETALL', key)
  for n = 1, #flat, 2 do
    s[flat[n]] = tonumber(flat[n + 1])
  end
  return {key = key, old = s, new = {}}
end

local function get(s, name, default)
  local v = s.new[name]
  if v == nil then
    v = s.old[name]
  end
  if v == nil or v == false then
    return default
  end
  return v
end

-- Sets a number; nil takes it away.
local function put(s, name, v)
  if v == nil then
    v = false
  end
  s.new[name] = v
end

local function save(s, now)
  local set, gone = {}, {}
  for name, v in pairs(s.new) do
    if v == false then
      gone[#gone + 1] = name
    elseif v ~= s.old[name] then
      set[#set + 1] = name
      set[#set + 1] = string.format(v == math.floor(v) and '%.0f' or '%.6f', v)
    end
  end
  if #set > 0 then
    redis.call('HSET', s.key, unpack(set))
  end
  if #gone > 0 then
    redis.call('HDEL', s.key, unpack(gone))
  end
  redis.call('PEXPIRE', s.key, HOUR + math.max(0, get(s, 'paused', 0) - now))
end

-- The rate that is configured, from five arguments; 0 is open.
local function rate_from(n)
  return {r = tonumber(ARGV[n]), t = tonumber(ARGV[n + 1]), i = tonumber(ARGV[n + 2]), o = tonumber(ARGV[n + 3]), c = tonumber(ARGV[n + 4])}
end

local function lower(a, b)
  if not b or b <= 0 or (a > 0 and a < b) then
    return a
  end
  return b
end

-- How many calls in flight are found out when nothing else bounds calls.
local function finds_calls(rate)
  return rate.c == 0 and rate.r == 0
end

-- The limits in force; 0 is none.
local function in_force(s, rate, now)
  local out = {c = rate.c}
  for _, b in ipairs({'r', 't', 'i', 'o'}) do
    out[b] = rate[b]
    if get(s, 'told_' .. b .. '_at', 0) + TOLD_FOR > now then
      out[b] = lower(out[b], get(s, 'told_' .. b))
    end
  end
  out.asked = out.r
  out.r = lower(out.r, get(s, 'pace'))
  if finds_calls(rate) then
    out.c = get(s, 'found', FIRST)
  end
  return out
end

local function show(s, rate, now)
  local l = in_force(s, rate, now)
  put(s, 'in_force_c', l.c)
  put(s, 'in_force_r', l.r)
  put(s, 'adaptive', (finds_calls(rate) or l.r ~= rate.r) and 1 or 0)
  return l
end

-- What a bucket holds: requests of a second, tokens of ten. A pace that was found
-- out makes up for lateness and no more: what the bucket of the provider holds is
-- not known.
local function burst(b, limits)
  if b ~= 'r' then
    return math.max(1, limits[b] / 6)
  elseif limits.r ~= limits.asked then
    return 1 + limits.r / 60 * JITTER
  end
  return math.max(1, limits.r / 60)
end
