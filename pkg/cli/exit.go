package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A codeError carries the exit code of an error that has been shown already, or
// of none: a run that failed its gate is no error of ours.
type codeError struct{ code eval.ExitCode }

func (e *codeError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// A usageError is a mistake in what the person asked for; nothing was started.
type usageError struct {
	message string
	hint    string
	// cause may be nil.
	cause error
}

func (e *usageError) Error() string { return e.message }

func (e *usageError) Unwrap() error { return e.cause }

func usage(hint, format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...), hint: hint}
}

// exitCode maps an error to the contract of `evalfarm help exit-codes`.
func exitCode(err error) eval.ExitCode {
	if err == nil {
		return eval.ExitOK
	}
	if coded, ok := errors.AsType[*codeError](err); ok {
		return coded.code
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return eval.ExitUsage
	}
	if _, ok := errors.AsType[*suite.ProblemsError](err); ok {
		return eval.ExitUsage
	}
	if _, ok := errors.AsType[*scheduler.BudgetError](err); ok {
		return eval.ExitUsage
	}
	if _, ok := errors.AsType[*scheduler.RefusedError](err); ok {
		return eval.ExitUsage
	}
	if _, ok := errors.AsType[*scheduler.KeyError](err); ok {
		return eval.ExitUsage
	}
	switch {
	case errors.Is(err, scheduler.ErrEmpty):
		return eval.ExitEmpty
	case errors.Is(err, app.ErrStopped):
		return eval.ExitInterrupted
	}
	return eval.ExitInfra
}

// An interrupt is the cause with which a signal ends the context.
type interrupt struct{ signal os.Signal }

func (i *interrupt) Error() string { return "interrupted by " + i.signal.String() }

func (i *interrupt) code() eval.ExitCode {
	if i.signal == syscall.SIGTERM {
		return eval.ExitTerminated
	}
	return eval.ExitInterrupted
}

const exitCodesHelp = `Exit codes are a contract; scripts and CI may rely on them.

  0    the run is done and its gate passed, or none was asked
  1    a gate failed: a script or catalog case failed, or a rule of the gate
  2    usage: a bad flag, argument or suite; nothing ran
  3    infrastructure: the farm or a dependency failed, so there is no verdict
  4    inconclusive: cancelled, out of budget, or too little to decide
  5    the selection matched nothing
  70   a bug in evalfarm
  130  interrupted (SIGINT); the run can be resumed
  143  terminated (SIGTERM); the run can be resumed

When several apply, the first of these counts: 2, 5, 70, 130 and 143, 1 for a
failed script or catalog case, 3, 1, 4, 0.
`
