package doctor

import "fmt"

const (
	// baseFiles are what a process opens before any trial: store, Redis, log.
	baseFiles = 128
	// slotFiles are what a trial opens: pipes of a server, connections to a model, to
	// an HTTP server and for blobs.
	slotFiles = 16
)

// files looks at how many files this process may open.
func (o Options) files() []Finding {
	limit, err := o.Files()
	if err != nil {
		return []Finding{warning("files", "the limit of open files cannot be seen: "+err.Error(), "")}
	}
	want := uint64(baseFiles + slotFiles*max(0, o.Slots))
	if limit < want {
		return []Finding{warning("files", fmt.Sprintf("%d files may be open at once, and %d slots may need %d", limit, o.Slots, want), fmt.Sprintf("ulimit -n %d, or fewer slots", want))}
	}
	return []Finding{ok("files", fmt.Sprintf("%d may be open at once, enough for %d slots", limit, o.Slots))}
}
