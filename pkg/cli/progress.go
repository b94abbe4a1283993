package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Progress shows on standard error how a run advances. One source of events
// feeds it, and the renderer that NewProgress chose decides what a person sees.
// Its methods may be called from several goroutines.
type Progress interface {
	// Start opens the display. It is called once, before any Result or Tick.
	Start(RunInfo)
	// Result tells that a trial has its standing result. Those that failed, broke
	// or could not be judged are shown at once, the others only by the counts of
	// the next Tick.
	Result(Finished)
	// Tick tells where the run stands. The panel wants it a few times a second;
	// the last one before Stop should hold the final numbers.
	Tick(Status)
	// Note shows a sentence of our own, such as what an interrupt does.
	Note(string)
	// Stop closes the display: the panel is removed, and what was printed stays.
	// A second call does nothing. A Note after it is still printed.
	Stop()
}

// RunInfo says what runs.
type RunInfo struct {
	Run   string
	Suite string
	// Queue is what carries the jobs, such as "embedded".
	Queue    string
	Cases    int
	Variants int
	Trials   int
}

// Finished is the standing result of a trial.
type Finished struct {
	Case    string
	Variant string
	Repeat  int
	Verdict eval.Verdict
	Reason  eval.Reason
	// Message explains the reason. It may quote a server: it is hostile text.
	Message string
	// TraceURL is where people see the trace of the trial; empty if nowhere.
	TraceURL string
}

// Status says where a run stands.
type Status struct {
	// Done of Total trials have a standing result. When a run is resumed, the
	// first status counts those that it began with.
	Done, Total int
	Running     int
	Queued      int
	Counts      eval.VerdictCounts
	// Elapsed is the time since this process took up the run.
	Elapsed time.Duration
	// Slowest lists trials that run, the oldest first: as many as a terminal may have room for.
	Slowest []RunningTrial
	// Limits of the limiter that hold trials back, with the lines of each key; what is
	// Spent, and what the run Waits for; empty when there is nothing to say.
	Limits [][]string
	Spent  string
	Waits  string
	// Paused is until when a limit lets no call through; zero when none does so.
	Paused time.Time
}

// A RunningTrial is one that a worker is carrying out.
type RunningTrial struct {
	Case    string
	Variant string
	Repeat  int
	Since   time.Time
	// Doing is what it does, or what it waits for. It may quote a server.
	Doing string
}

// ProgressEnv is what a renderer knows of the world.
type ProgressEnv struct {
	// Stderr takes everything that is shown.
	Stderr io.Writer
	// TTY says that Stderr is a terminal. The panel also needs Stderr to be a
	// file, such as os.Stderr, to learn of changes of the terminal's size.
	TTY bool
	// Width of the terminal in columns. Default: 80.
	Width int
	// Lookup reads an environment variable. Default: none is set.
	Lookup func(string) (string, bool)
	// Color allows colours; see useColor.
	Color bool
	// Quiet turns the mode auto into none.
	Quiet bool
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// NewProgress chooses a renderer by the value of --progress.
//
//   - auto, or empty: the panel on a terminal, plain lines elsewhere and in CI,
//     nothing when Quiet
//   - tty: the panel; an error when there is no terminal that can show it
//   - plain: one line per event that a log should keep
//   - none: nothing at all, notes included
func NewProgress(mode string, env ProgressEnv) (Progress, error) {
	if env.Width <= 0 {
		env.Width = 80
	}
	if env.Lookup == nil {
		env.Lookup = func(string) (string, bool) { return "", false }
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	switch mode {
	case "", "auto":
		if env.Quiet {
			return noProgress{}, nil
		}
		if out, err := env.terminal(); err == nil && !env.ci() {
			return newTTYProgress(env, out), nil
		}
		return newPlainProgress(env), nil
	case "tty":
		out, err := env.terminal()
		if err != nil {
			return nil, fmt.Errorf("--progress=tty: %w; use plain or auto", err)
		}
		return newTTYProgress(env, out), nil
	case "plain":
		return newPlainProgress(env), nil
	case "none":
		return noProgress{}, nil
	default:
		return nil, fmt.Errorf("--progress=%s: want auto, tty, plain or none", mode)
	}
}

// terminal gives Stderr as a file on which a panel can be drawn, or says why
// there is none.
func (e ProgressEnv) terminal() (terminal, error) {
	if !e.TTY {
		return nil, errors.New("standard error is not a terminal")
	}
	if term, _ := e.Lookup("TERM"); term == "dumb" {
		return nil, errors.New("TERM=dumb cannot move the cursor")
	}
	out, ok := e.Stderr.(terminal)
	if !ok {
		return nil, errors.New("standard error is not a file")
	}
	return out, nil
}

// ci says whether a build server runs us. Some of them offer a terminal, but
// what they keep is a log.
func (e ProgressEnv) ci() bool {
	return slices.ContainsFunc([]string{"CI", "GITHUB_ACTIONS", "BUILDKITE", "GITLAB_CI", "TF_BUILD", "JENKINS_URL"}, e.on)
}

// on says whether a variable is set to something other than no.
func (e ProgressEnv) on(name string) bool { return switchedOn(e.Lookup, name) }

// noProgress shows nothing.
type noProgress struct{}

func (noProgress) Start(RunInfo)   {}
func (noProgress) Result(Finished) {}
func (noProgress) Tick(Status)     {}
func (noProgress) Note(string)     {}
func (noProgress) Stop()           {}
