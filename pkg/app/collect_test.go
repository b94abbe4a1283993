package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// What is too old goes at the start and then every day, but never a baseline.
func TestCollectEveryDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "evalfarm.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		base, old := ended(t, s), ended(t, s)
		if err := s.SetBaseline(ctx, store.Baseline{Suite: "suite", Name: "main", Run: base}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(36 * time.Hour)
		done := make(chan error, 1)
		go func() { done <- collect(ctx, s, 48*time.Hour, slog.New(slog.DiscardHandler)) }()
		fresh := ended(t, s)
		for _, step := range []struct {
			name  string
			after time.Duration
			want  []string
		}{
			{"nothing is too old yet", 0, []string{fresh, old, base}},
			{"a day later two are, of which one is a baseline", 25 * time.Hour, []string{fresh, base}},
			{"two days later the third is too", 48 * time.Hour, []string{base}},
		} {
			time.Sleep(step.after)
			synctest.Wait()
			runs, err := s.ListRuns(ctx, store.RunFilter{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, r := range runs {
				got[r.ID] = true
			}
			if len(got) != len(step.want) {
				t.Fatalf("%s: got the runs %v, want %v", step.name, got, step.want)
			}
			for _, id := range step.want {
				if !got[id] {
					t.Errorf("%s: got the runs %v, want %v", step.name, got, step.want)
				}
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("got %v, want no error when it is stopped", err)
		}
	})
}

// ended makes a run that was cancelled at once.
func ended(t *testing.T, s store.Store) string {
	t.Helper()
	loaded := &suite.Loaded{Dir: t.TempDir(), Hash: "h", Suite: eval.Suite{
		Name: "suite", Servers: map[string]eval.Server{"a": {Command: []string{"a"}}},
		Cases: []eval.Case{{ID: "c", Kind: eval.KindScript, Server: "a", Steps: []eval.Step{{ID: "1", Call: "t"}}}},
	}}
	run, err := scheduler.Create(t.Context(), s, scheduler.Request{Suite: loaded, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scheduler.End(t.Context(), s, run, eval.OutcomeRunCancelled); err != nil {
		t.Fatal(err)
	}
	return run.ID
}
