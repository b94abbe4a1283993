-- Makes attempts the current ones of their trials. It never goes back.
-- KEYS: claims, current, done
-- ARGV: seconds to keep the keys, and for each trial: ordinal, attempt
local claims, current, done = KEYS[1], KEYS[2], KEYS[3]
local keep = ARGV[1]

for i = 2, #ARGV, 2 do
  local ordinal, attempt = ARGV[i], tonumber(ARGV[i + 1])
  local now_current = current_of(current, ordinal)
  if attempt > now_current then
    set_current(current, done, ordinal, attempt, keep)
  end
  if attempt >= now_current then
    local c = claim_of(claims, ordinal)
    if c and c.attempt < attempt then
      redis.call('HDEL', claims, ordinal)
    end
  end
end
return 1
