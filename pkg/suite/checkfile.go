package suite

import "github.com/evalfarm/evalfarm/pkg/strictyaml"

// The structs of checks. Those that can be written in several forms are in
// checkforms.go.

// What must hold after an agent's trial: exactly one kind of check, with an optional id, title, weight, threshold and not.
type checkFile struct {
	strictyaml.At
	// Name of the check in its case. Default: what it checks.
	ID stepID `yaml:"id,omitempty"`
	// One line for people.
	Title string `yaml:"title,omitempty"`
	// Weight in the mean of a case with a threshold. Default 1; 0 is shown and decides nothing.
	Weight *checkWeight `yaml:"weight,omitempty"`
	// Least value with which a graded check passes.
	Threshold *threshold `yaml:"threshold,omitempty"`
	// true turns the check around; a check in its place is that check, turned around.
	Not *notFile `yaml:"not,omitempty"`

	// What the agent's answer must be, but for white space around it.
	Equals *textFile `yaml:"equals,omitempty"`
	// Text that the agent's answer must contain.
	Contains *textFile `yaml:"contains,omitempty"`
	// Regular expression (RE2) that must be found in the agent's answer.
	Regex *regexFile `yaml:"regex,omitempty"`
	// What the answer must be as JSON, or the latest result of a tool.
	JSON *jsonFile `yaml:"json,omitempty"`
	// A call that must have been made.
	Called *calledFile `yaml:"called,omitempty"`
	// A call that must not have been made.
	NotCalled *callPatternFile `yaml:"not_called,omitempty"`
	// A call that must have been rejected.
	Rejected *rejectedFile `yaml:"rejected,omitempty"`
	// Calls that are compared with those that were made.
	Trajectory *trajectoryFile `yaml:"trajectory,omitempty"`
	// No call may have been made twice with the same arguments.
	NoRepeats *noRepeatsFile `yaml:"no_repeats,omitempty"`
	// Bounds of what the trial took.
	AtMost *atMostFile `yaml:"at_most,omitempty"`
	// No secrets and no personal data.
	NoSensitiveData *noSensitiveFile `yaml:"no_sensitive_data,omitempty"`
	// A look at the outside state after the trial: by a step, or by a command.
	Verify *verifyFile `yaml:"verify,omitempty"`
	// An executable that reads the trial as JSON and answers with a score.
	Scorer *scorerFile `yaml:"scorer,omitempty"`
	// A rubric that a model decides.
	Judge *judgeFile `yaml:"judge,omitempty"`
	// At least one of these checks must pass.
	Any []checkFile `yaml:"any,omitempty"`
	// All of these checks must pass.
	All []checkFile `yaml:"all,omitempty"`
}

// checkKinds are the keys of which a check has exactly one, beside not.
func checkKinds() []string {
	return []string{
		"equals", "contains", "regex", "json", "called", "not_called", "rejected", "trajectory", "no_repeats", "at_most",
		"no_sensitive_data", "verify", "scorer", "judge", "any", "all",
	}
}

// What a JSON value must be: at least one of match, schema and count.
type jsonFile struct {
	strictyaml.At
	// Name of the tool whose latest result is looked at, in the place of the answer.
	Tool string `yaml:"tool,omitempty"`
	// JSON path of the value. Default: all of it.
	Path string `yaml:"path,omitempty"`
	// What the value must match. Objects match partially; keys that begin with $ are matchers.
	Match *strictyaml.Node `yaml:"match,omitempty"`
	// JSON Schema that the value must satisfy.
	Schema *strictyaml.Node `yaml:"schema,omitempty"`
	// Number of items of the value.
	Count *natural `yaml:"count,omitempty"`
}

// A call that must have been rejected.
type rejectedFile struct {
	strictyaml.At
	// Name of the tool.
	Tool string `yaml:"tool,omitempty"`
	rejectionFile
}

// Calls that are compared with those that were made.
type trajectoryFile struct {
	strictyaml.At
	// How to compare: aligned (the default), positional, exact, in_order, any_order, subset or superset.
	Match trajectoryMatch `yaml:"match,omitempty"`
	// Least similarity with which it passes. Default: 0.8 for aligned and positional; the other ways want all of it.
	Threshold *threshold `yaml:"threshold,omitempty"`
	// The expected calls. Without them and without baseline, those of the baseline that the run names.
	Calls []callPatternFile `yaml:"calls,omitempty"`
	// Name of a run: its passing repeats of the case are expected.
	Baseline string `yaml:"baseline,omitempty"`
	// How arguments are compared, by argument or tool.argument.
	Compare map[string]compareFile `yaml:"compare,omitempty"`
}

// How far two numbers may lie apart: exactly one of the keys.
type toleranceFile struct {
	// As a share of the larger one.
	Relative *distance `yaml:"relative,omitempty"`
	// As a distance.
	Absolute *distance `yaml:"absolute,omitempty"`
}

// Bounds of what the trial took.
type atMostFile struct {
	strictyaml.At
	// Turns of the agent.
	Turns *natural `yaml:"turns,omitempty"`
	// Calls of tools.
	ToolCalls *natural `yaml:"tool_calls,omitempty"`
	// Calls of tools that were answered with an error.
	ToolErrors *natural `yaml:"tool_errors,omitempty"`
	// Calls that were not made, since their arguments or their tool were wrong.
	InvalidCalls *natural `yaml:"invalid_calls,omitempty"`
	// Tokens of the model, in and out.
	Tokens *natural `yaml:"tokens,omitempty"`
	// Cost in US dollars.
	CostUSD Dollars `yaml:"cost_usd,omitempty"`
	// Time, such as 90s or 2m.
	Time duration `yaml:"time,omitempty"`
}

// A look at the outside state after the trial: a call or a read with what must hold of its answer, or a command that must exit with 0.
type verifyFile struct {
	strictyaml.At
	// Name of the server, in a case with several.
	Server string `yaml:"server,omitempty"`
	actionFile
	// Program and arguments; never run by a shell.
	Command []string `yaml:"command,omitempty"`
	// Environment of the command.
	Env map[string]string `yaml:"env,omitempty"`
	// Bound of the command. Default 30s.
	Timeout duration `yaml:"timeout,omitempty"`
}

// An executable that reads the trial as JSON and answers with a score.
type scorerFile struct {
	strictyaml.At
	// Program and arguments; never run by a shell.
	Command []string `yaml:"command"`
	// Environment of the command.
	Env map[string]string `yaml:"env,omitempty"`
	// Bound of the command. Default 30s.
	Timeout duration `yaml:"timeout,omitempty"`
}

// A rubric that a model decides.
type judgeFile struct {
	strictyaml.At
	// The rubric, or file:// and the path of one.
	Rubric string `yaml:"rubric"`
	// Name of the model that judges. Default: judge of the defaults, or the only model.
	Model string `yaml:"model,omitempty"`
	// Votes, of which the majority decides. Default 1.
	Votes positive `yaml:"votes,omitempty"`
	// An answer to compare with, or file:// and the path of one.
	Reference string `yaml:"reference,omitempty"`
}
