package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/store/pgstore"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
)

func (o Options) store(ctx context.Context) []Finding {
	if o.Store == "" {
		return nil
	}
	if strings.Contains(o.Store, "://") {
		s, err := pgstore.Open(ctx, o.Store)
		if err != nil {
			return []Finding{problem("store", err.Error(), "see that PostgreSQL runs, and that the URL names a database which this user may write")}
		}
		defer s.Close()
		return []Finding{ok("store", "the PostgreSQL database can be opened, and its schema is up to date")}
	}
	e, err := sqlitestore.Examine(ctx, o.Store)
	switch {
	case err != nil:
		return []Finding{problem("store", err.Error(), "let this user write it, on a local disk, or name another with store")}
	case !e.Exists:
		if err := writable(filepath.Dir(o.Store)); err != nil {
			return []Finding{problem("store", fmt.Sprintf("%s is not there yet, and cannot be made: %s", o.Store, err), "make its folder, for this user to write")}
		}
		return []Finding{ok("store", o.Store+" is not there yet; the first command that needs it makes it")}
	case e.Version > e.Newest:
		return []Finding{problem("store", fmt.Sprintf("%s has schema %d, and this evalfarm knows up to %d: a newer one has written it", o.Store, e.Version, e.Newest), "use the newer evalfarm")}
	case e.Version < e.Newest:
		return []Finding{warning("store", fmt.Sprintf("%s has schema %d; the next command brings it to %d, which older evalfarms refuse", o.Store, e.Version, e.Newest), "copy the file first if you may want to go back")}
	}
	return []Finding{ok("store", fmt.Sprintf("%s, schema %d, %s, can be written", o.Store, e.Version, size(uint64(e.Bytes))))} //nolint:gosec // a file's size is never negative
}
