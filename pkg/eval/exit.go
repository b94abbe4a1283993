package eval

// An ExitCode is how a run's verdict reaches the shell and CI. The numbers are
// a public contract. When several apply, a usage error or an empty selection
// comes first, because nothing ran; then a bug; then an interrupt; then the
// order of gate.Decide.
type ExitCode int

const (
	// ExitOK: the run is done and every gate passed, or none was asked.
	ExitOK ExitCode = 0
	// ExitGateFailed: a gate failed; the system under test is to blame.
	ExitGateFailed ExitCode = 1
	// ExitUsage: a bad flag, argument or suite; nothing ran.
	ExitUsage ExitCode = 2
	// ExitInfra: the farm or a dependency failed, so there is no verdict to
	// trust.
	ExitInfra ExitCode = 3
	// ExitInconclusive: the gate cannot be decided with what there is.
	ExitInconclusive ExitCode = 4
	// ExitEmpty: the selection matched nothing.
	ExitEmpty ExitCode = 5
	// ExitBug: evalfarm itself is broken.
	ExitBug ExitCode = 70
	// ExitInterrupted: SIGINT stopped the run; it can be resumed.
	ExitInterrupted ExitCode = 130
	// ExitTerminated: SIGTERM stopped the run; it can be resumed.
	ExitTerminated ExitCode = 143
)
