package score_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/score"
)

// folder holds scripts, and the options that let them run there.
func folder(t *testing.T, scripts map[string]string) score.Options {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return score.Options{Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "AWS_SECRET_ACCESS_KEY=worker", "LC_ALL=C"}}
}

func with(o score.Options, r row) row {
	r.options = o
	return r
}

func TestVerifyByCommand(t *testing.T) {
	of := func(words ...string) eval.Check { return eval.Check{Verify: &eval.VerifyCheck{Command: words}} }
	o := folder(t, map[string]string{
		"ok":     "exit 0",
		"bad":    "echo the order is open; echo why >&2; exit 3",
		"killed": "kill -9 $$",
		"words":  `[ "$1" = "a b; exit 1" ]`,
		"here":   `[ -x ./here ]`,
		"env":    `[ -z "$AWS_SECRET_ACCESS_KEY" ] && [ "$HOME" = /nowhere ] && [ "$LC_ALL" = C ] && [ "$MINE" = x ]`,
		"hang":   "sleep 600",
	})
	withEnv := of("./env")
	withEnv.Verify.Env = map[string]string{"MINE": "x"}
	hanging := of("./hang")
	hanging.Verify.Timeout = 50 * time.Millisecond
	run(t, []row{
		with(o, row{name: "exit code 0", check: of("./ok")}),
		with(o, row{name: "another exit code", check: of("./bad"), reason: eval.ReasonWrongState, message: `want exit code 0 of "./bad", got 3: "the order is open\nwhy\n"`}),
		with(o, row{name: "turned around", check: not(of("./bad"))}),
		with(o, row{name: "turned around and 0", check: not(of("./ok")), reason: eval.ReasonWrongState, message: `want anything but exit code 0 of "./ok", got 0: ""`}),
		with(o, row{name: "a program on PATH", check: of("true")}),
		with(o, row{name: "words are no shell's", check: of("./words", "a b; exit 1")}),
		with(o, row{name: "it runs in the folder of the suite", check: of("./here")}),
		with(o, row{name: "a bare environment", check: withEnv}),
		with(o, row{name: "killed", check: of("./killed"), reason: eval.ReasonScorerFailed, message: "verify: ./killed: signal: killed"}),
		with(o, row{name: "too slow", check: hanging, reason: eval.ReasonScorerFailed, message: "verify: ./hang: it did not end in time"}),
		with(o, row{name: "too slow is not turned around", check: not(hanging), reason: eval.ReasonScorerFailed, message: "verify: ./hang: it did not end in time"}),
		with(o, row{name: "no such program", check: of("no-such-program"), reason: eval.ReasonScorerFailed, message: `verify: command "no-such-program" was not found on PATH`}),
		with(o, row{name: "no command", check: of(), reason: eval.ReasonScorerFailed, message: "verify: the command is empty"}),
	})
}

func TestACancelledCommandIsNoFailure(t *testing.T) {
	o := folder(t, map[string]string{"hang": "sleep 600"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := score.Checks(ctx, []eval.Check{{ID: "c", Verify: &eval.VerifyCheck{Command: []string{"./hang"}}}}, usual(), o)
	if got[0].Reason != eval.ReasonCancelled || got[0].Pass || got[0].Pending {
		t.Errorf("got %+v, want a cancelled check", got[0])
	}
	if verdict, _, _ := eval.Fold(got, nil); verdict != eval.Unfinished {
		t.Errorf("got %s, want unfinished", verdict)
	}
}

// Whoever still writes into the pipe is alive: it ends when the last one is dead.
func TestTheWholeProcessGroupIsKilled(t *testing.T) {
	for name, script := range map[string]string{
		"when the time is over":        "sleep 600 >alive & sleep 600 >alive",
		"when the command itself ends": "sleep 600 >alive & exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			o := folder(t, map[string]string{"spawn": script})
			fifo := filepath.Join(o.Dir, "alive")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				pipe, err := os.Open(fifo)
				if err == nil {
					_, err = io.Copy(io.Discard, pipe)
				}
				ended <- err
			}()
			c := eval.Check{ID: "c", Verify: &eval.VerifyCheck{Command: []string{"./spawn"}, Timeout: time.Second}}
			score.Checks(t.Context(), []eval.Check{c}, usual(), o)
			patience := time.After(time.Minute)
			for {
				select {
				case err := <-ended:
					if err != nil {
						t.Fatal(err)
					}
					return
				case <-patience:
					t.Fatal("a process of the command is still alive")
				default: // killed before it could open the pipe: let the reader see an end
					if writer, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
						writer.Close()
					}
				}
			}
		})
	}
}

func TestVerifyByStep(t *testing.T) {
	step := eval.Step{ID: "s", Call: "get_order"}
	check := eval.Check{Verify: &eval.VerifyCheck{Server: "shop", Step: &step}}
	saying := func(s eval.Score) score.Options {
		return score.Options{Verify: func(_ context.Context, server string, got eval.Step) eval.Score {
			if server != "shop" || got.Call != step.Call {
				return eval.Score{Reason: eval.ReasonFarm, Message: "another step"}
			}
			return s
		}}
	}
	failed := eval.Score{Reason: eval.ReasonMismatch, Message: `status: want "A", got "B"`, Expected: eval.JSON(`"A"`), Actual: eval.JSON(`"B"`)}
	run(t, []row{
		with(saying(eval.Score{Pass: true, Value: 1}), row{name: "the state is right", check: check}),
		with(saying(failed), row{name: "the state is wrong", check: check, reason: eval.ReasonWrongState, message: `want the state that the step expects, got status: want "A", got "B"`}),
		with(saying(failed), row{name: "turned around", check: not(check)}),
		with(saying(eval.Score{Pass: true, Value: 1}), row{name: "turned around and right", check: not(check), reason: eval.ReasonWrongState, message: "want anything but the state that the step expects, got it"}),
		with(saying(eval.Score{Reason: eval.ReasonServerCrashed, Message: "exit 1"}), row{name: "a crash is no state", check: check, reason: eval.ReasonScorerFailed, message: "verify: exit 1"}),
		with(saying(eval.Score{Reason: eval.ReasonMissingTool}), row{name: "nor is a missing tool", check: not(check), reason: eval.ReasonScorerFailed, message: "verify: missing_tool"}),
		with(saying(eval.Score{Reason: eval.ReasonUnreachable, Message: "gone"}), row{name: "the farm's failure keeps its reason", check: check, reason: eval.ReasonUnreachable, message: "verify: gone"}),
		with(saying(eval.Score{Reason: eval.ReasonCancelled, Message: "cancelled"}), row{name: "cancelled", check: check, reason: eval.ReasonCancelled, message: "verify: cancelled"}),
		{name: "nobody to carry it out", check: check, reason: eval.ReasonScorerFailed, message: "verify: nothing here carries out steps"},
	})
}

func TestScorer(t *testing.T) {
	o := folder(t, map[string]string{
		"half":      `echo '{"score":0.5,"reason":"half of it"}'`,
		"hostile":   `printf '%s' '{"score":1,"reason":"red \u001b[31m \n line"}'`,
		"full":      `cat >/dev/null; echo '{"score":1}'`,
		"pass":      `echo '{"score":0.1,"pass":true}'`,
		"fail":      `echo '{"score":0.9,"pass":false,"reason":"no"}'`,
		"reads":     `grep -q '"version":1,"case":{"id":"","kind":"".*"trial":{.*"trajectory":{"turns":\[{"text":"I look it up.".*"counts":{' && echo '{"score":1}'`,
		"exits":     "echo oh dear >&2; exit 1",
		"mute":      "true",
		"chatty":    `echo '{"score":1} done'`,
		"beyond":    `echo '{"score":1.01}'`,
		"scoreless": `echo '{"pass":true}'`,
		"endless":   `yes 2>/dev/null | head -c 2000000`,
	})
	of := func(name string) eval.Check {
		return eval.Check{Scorer: &eval.ScorerCheck{Command: []string{"./" + name}}}
	}
	least := func(threshold float64, c eval.Check) eval.Check {
		c.Threshold = &threshold
		return c
	}
	run(t, []row{
		with(o, row{name: "full", check: of("full")}),
		with(o, row{name: "half", check: of("half"), value: 0.5, reason: eval.ReasonMismatch, message: `want a score that passes, got 0.5: "half of it"`}),
		with(o, row{name: "half is enough", check: least(0.5, of("half")), value: 0.5, message: `0.5: "half of it"`}),
		with(o, row{name: "half, turned around", check: not(of("half")), value: 0.5, message: `0.5: "half of it"`}),
		with(o, row{name: "it says hostile words", check: of("hostile"), message: `1: "red \x1b[31m \n line"`}),
		with(o, row{name: "it says pass", check: of("pass"), value: 0.1}),
		with(o, row{name: "it says fail", check: of("fail"), value: 0.9, reason: eval.ReasonMismatch, message: `want a score that passes, got 0.9: "no"`}),
		with(o, row{name: "turned around", check: not(of("full")), value: 0, reason: eval.ReasonUnexpectedMatch, message: "want no score that passes, got 1"}),
		with(o, row{name: "it reads the trial", check: of("reads")}),
		with(o, row{name: "it fails", check: of("exits"), reason: eval.ReasonScorerFailed, message: `scorer: exit code 1: "oh dear\n"`}),
		with(o, row{name: "it says nothing", check: of("mute"), reason: eval.ReasonScorerFailed, message: `scorer: read its answer: unexpected end of JSON input; it wrote ""`}),
		with(o, row{name: "it says more", check: of("chatty"), reason: eval.ReasonScorerFailed, message: `scorer: read its answer: invalid character 'd' after top-level value; it wrote "{\"score\":1} done\n"`}),
		with(o, row{name: "out of range", check: of("beyond"), reason: eval.ReasonScorerFailed, message: `scorer: the score 1.01 is not from 0 to 1; it wrote "{\"score\":1.01}\n"`}),
		with(o, row{name: "no score", check: not(of("scoreless")), reason: eval.ReasonScorerFailed, message: `scorer: its answer has no score; it wrote "{\"pass\":true}\n"`}),
		with(o, row{name: "not there", check: of("absent"), reason: eval.ReasonScorerFailed, message: "scorer: " + filepath.Join(o.Dir, "absent") + ": file does not exist or cannot be executed"}),
	})
	got := score.Checks(t.Context(), []eval.Check{of("endless")}, usual(), o)[0]
	if got.Reason != eval.ReasonScorerFailed || !strings.HasPrefix(got.Message, "scorer: an answer of more than 1048576 bytes") {
		t.Errorf("got %s %q, want a refusal of so long an answer", got.Reason, got.Message)
	}
}
