package scheduler_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// However many ask at once under one key, there is one run, and all of them get it.
func TestCreateOnceAtOnce(t *testing.T) {
	s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "evalfarm.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	of := eval.Suite{Name: "shop", Cases: []eval.Case{{ID: "a", Kind: eval.KindScript}}}
	req := scheduler.Request{Suite: &suite.Loaded{Suite: of, Hash: "sha256:1"}, Seed: 1, Key: "nightly"}
	req.Asked = scheduler.Asked(req, 0, "")
	got := make([]string, 8)
	var asking sync.WaitGroup
	for i := range got {
		asking.Go(func() {
			run, err := scheduler.CreateOnce(t.Context(), s, req)
			if err != nil {
				t.Error(err)
			}
			got[i] = run.ID
		})
	}
	asking.Wait()
	runs, err := s.ListRuns(t.Context(), store.RunFilter{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("there are %d runs (%v), want 1", len(runs), err)
	}
	for i, id := range got {
		if id != runs[0].ID {
			t.Errorf("request %d got run %q, want %s", i, id, runs[0].ID)
		}
	}
}
