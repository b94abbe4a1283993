package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"
)

// Jitter is how long after its due time the firing of a schedule begins: less than a
// bound, always the same for one firing, and another one for each, so that
// schedules of one time do not begin at once.
func Jitter(schedule string, due time.Time, bound time.Duration) time.Duration {
	if bound <= 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(schedule + "\x00" + strconv.FormatInt(due.Unix(), 10)))
	return time.Duration(binary.BigEndian.Uint64(sum[:8]) % uint64(bound)) //nolint:gosec // it is below the bound, which is positive
}
