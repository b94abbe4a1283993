-- Extends the leases of permits that are held.
-- KEYS: state, leases, charges
-- ARGV: lease in ms, permits
local till = clock() + tonumber(ARGV[1])
for n = 2, #ARGV do
  redis.call('ZADD', KEYS[2], 'XX', till, ARGV[n])
end
for _, key in ipairs(KEYS) do
  if redis.call('PTTL', key) < HOUR then -- a pause may keep it for longer
    redis.call('PEXPIRE', key, HOUR)
  end
end
return 1
