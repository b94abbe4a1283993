package worker

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A board shows what the attempts of the worker are doing. The zero value is
// empty.
type board struct {
	mu   sync.Mutex
	uids map[string]eval.Activity
	told bool // something was on it when it was last shown
}

// show notes what an attempt does now. What it did already goes on since then.
func (b *board) show(uid string, a eval.Activity) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.uids == nil {
		b.uids = map[string]eval.Activity{}
	}
	a.Since = time.Now().UTC()
	if before, ok := b.uids[uid]; ok && before.Doing == a.Doing && before.On == a.On {
		a.Since = before.Since
	}
	b.uids[uid] = a
}

func (b *board) wipe(uid string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.uids, uid)
}

// read lists what is on the board, the oldest first. It says whether that is worth
// telling: an empty board is told once.
func (b *board) read() (as []eval.Activity, worth bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	as = slices.SortedFunc(maps.Values(b.uids), func(x, y eval.Activity) int {
		return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Ordinal, y.Ordinal))
	})
	worth = len(as) > 0 || b.told
	b.told = len(as) > 0
	return as, worth
}

// tell shows the board to the scheduler. It is for people: that it fails keeps
// nobody from anything.
func (w *Worker) tell(ctx context.Context) {
	as, worth := w.board.read()
	if !worth {
		return
	}
	if err := w.opts.Place.Tell(ctx, w.opts.ID, as); err != nil && ctx.Err() == nil {
		w.log.DebugContext(ctx, "tell", "error", err)
	}
}

// doing notes what the trial does.
func (at *place) doing(a eval.Activity) {
	a.Run, a.Ordinal, a.Worker = at.t.Run, at.t.Ordinal, at.w.opts.ID
	a.Case, a.Variant, a.Repeat = at.t.Case.ID, at.t.Variant.ID, at.t.Repeat
	at.w.board.show(at.uid, a)
}
