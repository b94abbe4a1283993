-- Tells how many callers of a process wait.
-- KEYS: waiting
-- ARGV: process, how many, ms to remember it
local waiting, process, n, keep = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local now = clock()
local flat = redis.call('HGETALL', waiting)
for k = 1, #flat, 2 do -- processes that ended without a word
  if tonumber(string.match(flat[k + 1], '|(%d+)$')) + keep < now then
    redis.call('HDEL', waiting, flat[k])
  end
end
if n > 0 then
  redis.call('HSET', waiting, process, string.format('%d|%.0f', n, now))
  redis.call('PEXPIRE', waiting, keep)
else
  redis.call('HDEL', waiting, process)
end
return 1
