-- Makes attempts the current ones of their trials. It never goes back. The claim
-- of an older attempt stays until the next one takes its place; it counts for
-- nothing.
-- KEYS: current, done
-- ARGV: seconds to keep the keys, and for each trial: ordinal, attempt
local current, done = KEYS[1], KEYS[2]
local keep = ARGV[1]

for i = 2, #ARGV, 2 do
  local ordinal, attempt = ARGV[i], tonumber(ARGV[i + 1])
  if attempt > current_of(current, ordinal) then
    set_current(current, done, ordinal, attempt, keep)
  end
end
return 1
