package app

import (
	"path/filepath"

	"github.com/evalfarm/evalfarm/pkg/spool"
)

// spools of a worker's process: trials and judging have one each, as they have a
// queue each. A farm in one process has none: its sink is the store.
type spools struct{ trials, judging *spool.Spool }

// openSpools opens the spools of a worker, with what dead workers of the farm have
// left in the folder.
func openSpools(c WorkerConfig, farm, id string) (spools, error) {
	var s spools
	var err error
	o := spool.Options{Logger: c.logger()}
	if s.trials, err = spool.Open(filepath.Join(c.Spool, farm, "trials"), id, o); err != nil {
		return s, err
	}
	if s.judging, err = spool.Open(filepath.Join(c.Spool, farm, "judging"), id, o); err != nil {
		_ = s.trials.Close()
	}
	return s, err
}

// close leaves what is still in the spools to the next worker.
func (s spools) close() {
	_ = s.trials.Close()
	_ = s.judging.Close()
}
