package doctor

import (
	"fmt"
	"path/filepath"
	"strings"
)

const (
	// full is where a store may come to its end within minutes: its log of writes
	// alone takes 64 MiB.
	full = 200 << 20
	// filling is about what a run of 100,000 trials takes.
	filling = 2 << 30
)

// disk looks at the space where the store is.
func (o Options) disk() []Finding {
	if o.Store == "" || strings.Contains(o.Store, "://") {
		return nil
	}
	folder := existing(filepath.Dir(o.Store))
	free, bad := o.room("disk", folder, "make room: evalfarm gc deletes old runs, and retention.runs does it every day")
	if bad != nil {
		return bad
	}
	return []Finding{ok("disk", free+" are free in "+folder)}
}

// room is the space in a folder, or what is bad about it.
func (o Options) room(check, folder, advice string) (free string, bad []Finding) {
	bytes, err := o.Free(folder)
	if err != nil {
		return "", []Finding{warning(check, fmt.Sprintf("the space in %s cannot be seen: %s", folder, err), "")}
	}
	free = size(bytes)
	switch {
	case bytes < full:
		bad = []Finding{problem(check, free+" are free in "+folder, advice)}
	case bytes < filling:
		bad = []Finding{warning(check, free+" are free in "+folder, advice)}
	}
	return free, bad
}

// size is a number of bytes for people.
func size(bytes uint64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
}
