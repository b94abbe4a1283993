package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/blob/httpblob"
)

// blobs looks at the scheduler as a worker does that joins it.
func (o Options) blobs(ctx context.Context) []Finding {
	if o.Blobs == "" && o.Part == PartWorker {
		return []Finding{problem("blobs", "none is set, and a worker needs the scheduler's address", "set blobs in farm.yaml, or EVALFARM_BLOBS")}
	}
	if o.Blobs == "" {
		return nil
	}
	if strings.HasPrefix(o.Blobs, "file:") || strings.HasPrefix(o.Blobs, "s3:") {
		return []Finding{warning("blobs", o.Blobs+" was not looked at", "the scheduler and the workers say when they start whether they can use it")}
	}
	farm, err := httpblob.New(o.Blobs, o.Token.Value, o.HTTP).Farm(ctx)
	if _, away := errors.AsType[*url.Error](err); away {
		return []Finding{warning("blobs", fmt.Sprintf("no scheduler answers at %s: %s", o.Blobs, err), "start it, or correct blobs; workers wait for it for half a minute")}
	}
	switch {
	case err != nil:
		return []Finding{problem("blobs", fmt.Sprintf("what answers at %s lets no worker in: %s", o.Blobs, err), "give both the same token, and blobs the scheduler's address")}
	case farm.Version != o.Version:
		return []Finding{problem("blobs", fmt.Sprintf("the scheduler at %s is evalfarm %s, this is %s", o.Blobs, farm.Version, o.Version), "run the same version on both")}
	}
	return []Finding{ok("blobs", "the scheduler at "+o.Blobs+" answers")}
}
