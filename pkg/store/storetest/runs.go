package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func testRunRoundTrip(t *testing.T, s store.Store) {
	r, blobs := newRun("r-20260301-aaaaaa", 5)
	r.State, r.Control, r.Cursor, r.Priority = eval.RunPaused, eval.ControlPause, 4, 7
	r.Tenant, r.Carrier = "ci", eval.CarrierService
	r.Notify = []string{"on-call", "team"}
	r.Rounds = 3
	r.Confirms, r.Reserve = "r-20260228-zzzzzz", eval.Amount{MicroUSD: 500_000, Tokens: 7}
	r.Outcome, r.Verdict, r.ExitCode = eval.OutcomeInterrupted, eval.RunInconclusive, 4
	r.Summary, r.Finished = strings.Repeat("ab", 32), when.Add(time.Hour)
	r.Budget, r.DayMicroUSD, r.Short = eval.Budget{MicroUSD: 5_000_000, Tokens: 1 << 40, Time: time.Hour}, 7, eval.ShortOfTime
	must(t, s.CreateRun(t.Context(), r, blobs))
	got, err := s.Run(t.Context(), r.ID)
	must(t, err)
	equal(t, "run", got, r)

	open := create(t, s, "r-20260301-bbbbbb", 5)
	got, err = s.Run(t.Context(), open.ID)
	must(t, err)
	if !got.Finished.IsZero() {
		t.Errorf("got finished %s for a run that is not, want the zero time", got.Finished)
	}
	for _, want := range blobs {
		b, err := s.GetBlob(t.Context(), want.SHA256)
		must(t, err)
		equal(t, "blob", b, want)
	}
}

func testCreateTwice(t *testing.T, s store.Store) {
	r, blobs := newRun("r-20260301-aaaaaa", 5)
	must(t, s.CreateRun(t.Context(), r, blobs))
	must(t, s.SetState(t.Context(), r.ID, eval.RunRunning))
	if err := s.CreateRun(t.Context(), r, blobs); err != nil {
		t.Errorf("got %v for the same run again, want nothing to happen", err)
	}
	got, err := s.Run(t.Context(), r.ID)
	must(t, err)
	equal(t, "state after the second CreateRun", got.State, eval.RunRunning)

	r.Created = r.Created.Add(time.Microsecond)
	if err := s.CreateRun(t.Context(), r, blobs); err == nil {
		t.Error("got no error for another run with an id that is taken")
	}
}

func testCreateNeedsBlobs(t *testing.T, s store.Store) {
	r, blobs := newRun("r-20260301-aaaaaa", 5)
	notFound(t, "without the header", s.CreateRun(t.Context(), r, blobs[1:]))
	notFound(t, "without the case", s.CreateRun(t.Context(), r, blobs[:1]))
	damaged := eval.Blob{SHA256: blobs[1].SHA256, Zstd: blobs[0].Zstd}
	if err := s.CreateRun(t.Context(), r, []eval.Blob{blobs[0], damaged}); err == nil {
		t.Error("got no error for a damaged case")
	}
	_, err := s.Run(t.Context(), r.ID)
	notFound(t, "the run that was not created", err)
	_, err = s.GetBlob(t.Context(), r.Header)
	notFound(t, "its header", err)

	for name, content := range map[string]string{
		"no snapshot":              `[]`,
		"a case beyond the cases":  `{"variants":[{}],"cases":[],"plan":{"cells":[{"case":0}]}}`,
		"a variant below zero":     `{"variants":[{}],"cases":[],"plan":{"cells":[{"variant":-1}]}}`,
		"a case without its blob":  `{"cases":[{"id":"a"}]}`,
		"text where JSON is asked": `header`,
	} {
		header := blob.Pack([]byte(content))
		odd := r
		odd.Header = header.SHA256
		if err := s.CreateRun(t.Context(), odd, []eval.Blob{header}); err == nil {
			t.Errorf("got no error for a header that is %s", name)
		}
	}

	must(t, s.PutBlobs(t.Context(), blobs...))
	if err := s.CreateRun(t.Context(), r, nil); err != nil {
		t.Errorf("got %v with every blob stored before, want the run", err)
	}
}

func testServiceRuns(t *testing.T, s store.Store) {
	list := func(want ...string) {
		t.Helper()
		got, err := s.ServiceRuns(t.Context())
		must(t, err)
		equal(t, "runs of the service", got, want)
	}
	list()
	for i, id := range []string{"r-3", "r-2", "r-1"} {
		r, blobs := newRun(id, 2)
		r.Carrier, r.Created = eval.CarrierService, when.Add(time.Duration(i/2)*time.Second)
		g := r
		g.ID, g.Parent = id+".g1", id
		r.Grading = g.ID
		must(t, s.CreateRun(t.Context(), r, blobs, g))
	}
	create(t, s, "r-process", 2)
	list("r-2", "r-3", "r-1")
	must(t, s.SetState(t.Context(), "r-2", eval.RunPaused))
	must(t, s.Finish(t.Context(), eval.Run{ID: "r-3", Outcome: eval.OutcomeRunCancelled}, blob.Pack([]byte("{}"))))
	list("r-2", "r-1")
	_, err := s.Retry(t.Context(), "r-3", []eval.Verdict{eval.Unfinished})
	must(t, err)
	list("r-2", "r-3", "r-1")
}

func testList(t *testing.T, s store.Store) {
	for i, id := range []string{"r-20260301-aaaaaa", "r-20260301-ab%aaa", "r-20260302-aaaaaa", "r-20260302-zzzzzz"} {
		r, blobs := newRun(id, 1)
		r.Created = when.Add(time.Duration(i) * time.Hour)
		if i == 3 {
			r.Created = when.Add(2 * time.Hour) // as old as the one before
		}
		if i == 1 {
			r.Suite = "nightly"
		}
		must(t, s.CreateRun(t.Context(), r, blobs))
	}
	must(t, s.Finish(t.Context(), eval.Run{ID: "r-20260302-aaaaaa"}, blob.Pack(nil)))

	for name, tc := range map[string]struct {
		filter store.RunFilter
		want   string
	}{
		"all, newest first":    {store.RunFilter{}, "r-20260302-zzzzzz r-20260302-aaaaaa r-20260301-ab%aaa r-20260301-aaaaaa"},
		"limit":                {store.RunFilter{Limit: 2}, "r-20260302-zzzzzz r-20260302-aaaaaa"},
		"suite":                {store.RunFilter{Suite: "nightly"}, "r-20260301-ab%aaa"},
		"unknown suite":        {store.RunFilter{Suite: "night"}, ""},
		"prefix":               {store.RunFilter{Prefix: "r-20260301-a"}, "r-20260301-ab%aaa r-20260301-aaaaaa"},
		"whole id":             {store.RunFilter{Prefix: "r-20260301-aaaaaa"}, "r-20260301-aaaaaa"},
		"prefix is no pattern": {store.RunFilter{Prefix: "r-20260301-%"}, ""},
		"pattern in an id":     {store.RunFilter{Prefix: "r-20260301-ab%"}, "r-20260301-ab%aaa"},
		"unfinished":           {store.RunFilter{Unfinished: true, Prefix: "r-20260302"}, "r-20260302-zzzzzz"},
		"all together":         {store.RunFilter{Unfinished: true, Suite: "quickstart", Limit: 1}, "r-20260302-zzzzzz"},
	} {
		t.Run(name, func(t *testing.T) {
			rs, err := s.ListRuns(t.Context(), tc.filter)
			must(t, err)
			var ids []string
			for _, r := range rs {
				ids = append(ids, r.ID)
			}
			equal(t, "ids", strings.Join(ids, " "), tc.want)
		})
	}
}

func testState(t *testing.T, s store.Store) {
	r := create(t, s, "r-20260301-aaaaaa", 1)
	for _, st := range []eval.RunState{eval.RunRunning, eval.RunRunning, eval.RunPaused, eval.RunRunning, eval.RunFinalizing} {
		must(t, s.SetState(t.Context(), r.ID, st))
	}
	if err := s.SetState(t.Context(), r.ID, eval.RunDone); err == nil {
		t.Error("got a run done without Finish, want an error")
	}
	must(t, s.Finish(t.Context(), r, blob.Pack(nil)))
	if err := s.SetState(t.Context(), r.ID, eval.RunRunning); err == nil {
		t.Error("got a done run running without Retry, want an error")
	}
	must(t, s.SetControl(t.Context(), r.ID, eval.ControlCancel))
	got, err := s.Run(t.Context(), r.ID)
	must(t, err)
	equal(t, "state", got.State, eval.RunDone)
	equal(t, "control", got.Control, eval.ControlCancel)

	es, err := s.Events(t.Context(), r.ID, 0, 0)
	must(t, err)
	var states []eval.RunState
	for _, e := range es {
		equal(t, "kind of event", e.Kind, "state")
		states = append(states, e.State)
	}
	equal(t, "states", states, []eval.RunState{eval.RunRunning, eval.RunPaused, eval.RunRunning, eval.RunFinalizing, eval.RunDone})
}

func testFinish(t *testing.T, s store.Store) {
	r := create(t, s, "r-20260301-aaaaaa", 1)
	must(t, s.SetState(t.Context(), r.ID, eval.RunRunning))
	summary := blob.Pack([]byte(`{"verdict":"fail"}`))
	end := r
	end.Outcome, end.Verdict, end.ExitCode, end.Finished = eval.OutcomeBudgetExhausted, eval.RunFail, 1, when.Add(time.Minute)
	end.Short = eval.ShortOfMoney
	damaged := eval.Blob{SHA256: summary.SHA256, Zstd: blob.Pack(nil).Zstd}
	if err := s.Finish(t.Context(), end, damaged); err == nil {
		t.Error("got no error for a damaged summary")
	}
	for range 2 { // a scheduler may be killed and repeat it
		must(t, s.Finish(t.Context(), end, summary))
	}
	// Another leader, which was frozen over its summary, comes late.
	late := r
	late.State, late.Outcome, late.Verdict, late.Finished = eval.RunFinalizing, eval.OutcomeRunCancelled, eval.RunPass, when.Add(time.Hour)
	must(t, s.Finish(t.Context(), late, blob.Pack([]byte(`{"verdict":"pass"}`))))
	got, err := s.Run(t.Context(), r.ID)
	must(t, err)
	want := end
	want.State, want.Summary = eval.RunDone, summary.SHA256
	equal(t, "run", got, want)
	b, err := s.GetBlob(t.Context(), got.Summary)
	must(t, err)
	equal(t, "summary", b, summary)
	es, err := s.Events(t.Context(), r.ID, 0, 0)
	must(t, err)
	if len(es) != 2 || es[1].State != eval.RunDone {
		t.Errorf("got events %+v, want running and done", es)
	}
	// A grading makes the numbers of a done run anew.
	anew := got
	anew.Verdict, anew.Summary = eval.RunPass, blob.Pack([]byte(`{"verdict":"pass"}`)).SHA256
	must(t, s.Finish(t.Context(), anew, blob.Pack([]byte(`{"verdict":"pass"}`))))
	got, err = s.Run(t.Context(), r.ID)
	must(t, err)
	equal(t, "run with new numbers", got, anew)
}
