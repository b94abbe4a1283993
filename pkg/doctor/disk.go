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
	free, err := o.Free(folder)
	const advice = "make room: evalfarm gc deletes old runs, and retention.runs does it every day"
	switch {
	case err != nil:
		return []Finding{warning("disk", fmt.Sprintf("the space in %s cannot be seen: %s", folder, err), "")}
	case free < full:
		return []Finding{problem("disk", size(free)+" are free in "+folder, advice)}
	case free < filling:
		return []Finding{warning("disk", size(free)+" are free in "+folder, advice)}
	}
	return []Finding{ok("disk", size(free)+" are free in "+folder)}
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
