package suite

import (
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// The structs of this file are the suite format: the loader decodes into them,
// and the schema for editors is made of them and of their comments. A field
// without omitempty is required.

// An evalfarm suite: cases, the matrix that they run over, and the rules that judge a run.
type suiteFile struct {
	strictyaml.At
	// Version of the suite format: 1.
	Version version `yaml:"version"`
	// Name of the suite. Without it, the name of the file or of its folder.
	Name string `yaml:"name,omitempty"`
	// What the suite is for.
	Description string `yaml:"description,omitempty"`
	// A suite file to start from. Maps are merged, lists and values replace those of the parent.
	Extends string `yaml:"extends,omitempty"`
	// Where more cases come from: globs of suite files, and data sets with one case per row.
	Include []includeFile `yaml:"include,omitempty"`
	// Variables of all cases, for {{name}} in cases and ${{ vars.NAME }} elsewhere.
	Vars varsFile `yaml:"vars,omitempty"`
	// MCP servers by name.
	Servers map[string]serverFile `yaml:"servers,omitempty"`
	// Language models by name.
	Models map[string]modelFile `yaml:"models,omitempty"`
	// How the agents of all cases are set up; a case and an axis can say otherwise.
	Agent *agentFile `yaml:"agent,omitempty"`
	// The matrix. A case runs once for each combination of the axes that it uses. Reserved axes: model, server, loading, protocol, profile.
	Axes map[string]axisFile `yaml:"axes,omitempty"`
	// Partial variants that do not run: axis names with a value, optionally a tag.
	Exclude []map[string]string `yaml:"exclude,omitempty"`
	// How often agent cases run in each variant.
	Repeats *repeatsFile `yaml:"repeats,omitempty"`
	// Capabilities, such as gpu, that a worker must have for every case.
	Requires []Capability `yaml:"requires,omitempty"`
	// What the farm cannot see and runs that are compared must have in common, by name: the revision of a fixture, permissions.
	Conditions map[string]string `yaml:"conditions,omitempty"`
	// Bounds of every trial; a case can set its own.
	Limits *limitsFile `yaml:"limits,omitempty"`
	// Bounds of the whole run.
	Budget *budgetFile `yaml:"budget,omitempty"`
	// What cases get that do not say otherwise.
	Defaults *defaultsFile `yaml:"defaults,omitempty"`
	// The cases.
	Cases []caseFile `yaml:"cases,omitempty"`
	// When a run is no evidence at all.
	Validity *validityFile `yaml:"validity,omitempty"`
	// Least agreement with humans (Gwet's AC1, from 0 to 1) that the judge of the suite must have.
	MinAgreement share `yaml:"min_agreement,omitempty"`
	// Rules that decide the exit code.
	Gate *gateFile `yaml:"gate,omitempty"`
}

// What cases get that do not say otherwise.
type defaultsFile struct {
	strictyaml.At
	// Name of the server that cases talk to.
	Server string `yaml:"server,omitempty"`
	// Name of the model that agent cases ask.
	Model string `yaml:"model,omitempty"`
	// Name of the model that judges.
	Judge string `yaml:"judge,omitempty"`
	// Tags of every case, beside its own.
	Tags []string `yaml:"tags,omitempty"`
}

// An MCP server of a suite: a command to start, a URL to reach, or the name of one that the farm's operator has registered.
type serverFile struct {
	endpointFile
	// Name under which the farm's operator has registered the server in farm.yaml, in the place of command or url and what goes with them.
	Registered string `yaml:"registered,omitempty"`
}

// ServerFile is an MCP server as suites and farm files write it.
type ServerFile = endpointFile

// An MCP server: a command to start or a URL to reach.
type endpointFile struct {
	strictyaml.At
	// Program and arguments of a stdio server; never run by a shell. "evalfarm" is this very program.
	Command []string `yaml:"command,omitempty"`
	// Address of an HTTP server.
	URL string `yaml:"url,omitempty"`
	// How messages travel to a URL: http (Streamable HTTP, the default) or sse.
	Transport transport `yaml:"transport,omitempty"`
	// Headers of every HTTP request.
	Headers map[string]string `yaml:"headers,omitempty"`
	// Environment of the process. Nothing else of the worker's environment reaches it, but for PATH, HOME and the like.
	Env map[string]string `yaml:"env,omitempty"`
	// Working directory of the process, relative to the suite file.
	Cwd string `yaml:"cwd,omitempty"`
	// Revision of the server under test, to tell which runs can be compared.
	Revision string `yaml:"revision,omitempty"`
	// Bound of process start and initialize. Default 60s.
	StartTimeout duration `yaml:"start_timeout,omitempty"`
	// Bound of one request. Default 30s.
	CallTimeout duration `yaml:"call_timeout,omitempty"`
	// How long a closed server may take before it is killed. Default 2s.
	CloseTimeout duration `yaml:"close_timeout,omitempty"`
	// Who shares a session: shared (all trials of a run on a worker) or trial.
	Isolation isolation `yaml:"isolation,omitempty"`
	// In agent cases, make a crash of this server the agent's failure instead of an error.
	UnderTest bool `yaml:"under_test,omitempty"`
	// Container image to run the server in, best with its digest: name@sha256:…. The command, if there is one, is given to the image.
	Image imageRef `yaml:"image,omitempty"`
	// Files and folders of the worker's machine inside the container.
	Mounts []mountFile `yaml:"mounts,omitempty"`
	// Network of the container: none (the default), or the name of a network of the engine, such as bridge.
	Network networkName `yaml:"network,omitempty"`
	// Most memory of the container, such as 512m or 2g. Default: no bound.
	Memory memorySize `yaml:"memory,omitempty"`
	// How many processors the container may keep busy. Default: all.
	CPUs processors `yaml:"cpus,omitempty"`
	// User inside the container: a name or a number, optionally with :GROUP. Default: what the image says.
	User containerUser `yaml:"user,omitempty"`
	// When the image is fetched: missing (the default), always (once for each run and worker) or never.
	Pull pull `yaml:"pull,omitempty"`
	// Capabilities, such as gpu, that a worker must have for cases that talk to this server.
	Requires []Capability `yaml:"requires,omitempty"`
}

// A file or folder of the worker's machine inside a container.
type mountFile struct {
	strictyaml.At
	// Where it is, absolute or relative to the suite file.
	Source string `yaml:"source"`
	// Absolute path inside the container.
	Target mountTarget `yaml:"target"`
	// Whether the server can only read it. Default true.
	ReadOnly *bool `yaml:"read_only,omitempty"`
}

// One value of an axis and what choosing it sets.
type pointFile struct {
	strictyaml.At
	// Variables for {{name}} in cases.
	Vars varsFile `yaml:"vars,omitempty"`
	// Environment added to command servers.
	Env map[string]string `yaml:"env,omitempty"`
	// Headers added to HTTP servers.
	Headers map[string]string `yaml:"headers,omitempty"`
	// How agents are set up, over what their cases say.
	Agent *agentFile `yaml:"agent,omitempty"`
}

// Bounds of one trial. They are part of the task.
type limitsFile struct {
	strictyaml.At
	// Turns of the agent.
	Turns positive `yaml:"turns,omitempty"`
	// Calls of tools.
	ToolCalls positive `yaml:"tool_calls,omitempty"`
	// Tokens of the model, in and out.
	Tokens positive `yaml:"tokens,omitempty"`
	// Time, such as 90s or 2m.
	Time duration `yaml:"time,omitempty"`
	// Cost in US dollars.
	CostUSD Dollars `yaml:"cost_usd,omitempty"`
	// What reaching a limit means: score what is there (the default), or fail.
	OnLimit onLimit `yaml:"on_limit,omitempty"`
}

// Bounds of one run.
type budgetFile struct {
	strictyaml.At
	// US dollars. No run spends more, its judges and failed attempts included.
	USD Dollars `yaml:"usd,omitempty"`
	// Tokens, in and out. No run takes more.
	Tokens sum `yaml:"tokens,omitempty"`
	// Time since the run was created, such as 5h. After it nothing more is begun.
	Time duration `yaml:"time,omitempty"`
}

// One case: an agent case has a prompt; a script case has call, read or steps; a catalog case has catalog.
type caseFile struct {
	strictyaml.At
	// Name of the case, unique in the suite: letters, digits, dots, dashes and underscores, in parts separated by slashes.
	ID caseID `yaml:"id"`
	// One line for people.
	Title string `yaml:"title,omitempty"`
	// What the case is for.
	Description string `yaml:"description,omitempty"`
	// What the agent is asked to do, or file:// and the path of it. Makes this an agent case.
	Prompt string `yaml:"prompt,omitempty"`
	// Variables for {{name}} in this case.
	Vars varsFile `yaml:"vars,omitempty"`
	// Tags to select by, beside those of the defaults.
	Tags []string `yaml:"tags,omitempty"`
	// Capabilities, such as gpu, that a worker must have for this case, beside those of the suite and of its servers.
	Requires []Capability `yaml:"requires,omitempty"`
	// Labels that put the case into tables: label to value.
	Labels map[string]string `yaml:"labels,omitempty"`
	// Name of the server that the case talks to.
	Server string `yaml:"server,omitempty"`
	// Names of the servers that an agent case talks to; its tools are then named mcp__SERVER__TOOL.
	Servers []string `yaml:"servers,omitempty"`
	// Name of the model that an agent case asks.
	Model string `yaml:"model,omitempty"`
	// How the agent of this case is set up.
	Agent *agentFile `yaml:"agent,omitempty"`
	// How often the case runs in each variant.
	Repeats positive `yaml:"repeats,omitempty"`
	// Bounds of a trial of this case.
	Limits *limitsFile `yaml:"limits,omitempty"`
	// What the user says after the prompt.
	User *userFile `yaml:"user,omitempty"`
	actionFile
	// Makes one case per combination of values: the case id/1, id/2 and so on, with each name as a variable.
	Each map[string][]*strictyaml.Node `yaml:"each,omitempty"`
	// Several calls and reads in a row. Makes this a script case that is reported as a workflow.
	Steps []stepFile `yaml:"steps,omitempty"`
	// Leave out the steps after the first one that fails.
	StopOnFailure bool `yaml:"stop_on_failure,omitempty"`
	// What the server's tool listing must satisfy. Makes this a catalog case.
	Catalog *catalogFile `yaml:"catalog,omitempty"`
	// What must hold after an agent's trial.
	Checks []checkFile `yaml:"checks,omitempty"`
	// Least weighted mean of the checks with which a trial passes. Without it every check must pass.
	Threshold *threshold `yaml:"threshold,omitempty"`
}

// One call or read of a script case.
type stepFile struct {
	strictyaml.At
	// Name of the step in its case. Default: its number.
	ID stepID `yaml:"id,omitempty"`
	// One line for people.
	Title string `yaml:"title,omitempty"`
	actionFile
}

// What a step does and what must hold of the answer.
type actionFile struct {
	// Name of the tool to call.
	Call string `yaml:"call,omitempty"`
	// Exact URI of the resource to read.
	Read string `yaml:"read,omitempty"`
	// Arguments of the call.
	Arguments *strictyaml.Node `yaml:"arguments,omitempty"`
	// What the answer must match. Objects match partially; keys that begin with $ are matchers.
	Expect *strictyaml.Node `yaml:"expect,omitempty"`
	// What the answer must not match.
	ExpectNot *strictyaml.Node `yaml:"expect_not,omitempty"`
	// What the text of the answer must match: a string for equality, or matchers.
	ExpectText *strictyaml.Node `yaml:"expect_text,omitempty"`
	// Number of items of the answer: of its array, or of its content blocks.
	ExpectCount *natural `yaml:"expect_count,omitempty"`
	// The call must be rejected: true, a text that the message contains, or kind, contains and code.
	ExpectError *expectErrorFile `yaml:"expect_error,omitempty"`
	// Variables to take from the answer: name to JSON path.
	Extract map[string]string `yaml:"extract,omitempty"`
	// Make the call again until a value appears.
	RepeatUntil *repeatUntilFile `yaml:"repeat_until,omitempty"`
	// Follow a paged answer; the value is the items of all pages.
	Collect *collectFile `yaml:"collect,omitempty"`
}

// Make a call again until a value appears.
type repeatUntilFile struct {
	// JSON path of the value.
	Path string `yaml:"path"`
	// The value to wait for.
	Equals *strictyaml.Node `yaml:"equals"`
	// Calls in all, the first included. Default 10.
	Max positive `yaml:"max,omitempty"`
	// Wait between calls. Default 1s.
	Every duration `yaml:"every,omitempty"`
}

// Follow a cursor over the pages of an answer.
type collectFile struct {
	// JSON path of a page's array.
	Items string `yaml:"items"`
	// JSON path of the cursor; missing, null or "" ends the list.
	Next string `yaml:"next"`
	// Argument that receives the cursor. Default cursor.
	Argument string `yaml:"argument,omitempty"`
	// Most pages. Default 20; reaching it fails the step.
	Max positive `yaml:"max,omitempty"`
	// JSON path inside an item whose values must not repeat.
	Unique string `yaml:"unique,omitempty"`
	// Variable with the list that the pages must add up to, in the same order.
	SameAs string `yaml:"same_as,omitempty"`
}

// What a server's tool listing must satisfy.
type catalogFile struct {
	strictyaml.At
	// Rules to apply: all (the default), or a list of names.
	Rules *rulesFile `yaml:"rules,omitempty"`
	// Most tokens that the listing may cost in a model's context.
	MaxContextTokens positive `yaml:"max_context_tokens,omitempty"`
	// Fingerprint that the listing must have: sha256: and 64 hex digits.
	Fingerprint string `yaml:"fingerprint,omitempty" jsonschema:"pattern=^sha256:[0-9a-f]{64}$"`
	// A tools.lock.json to compare the listing with.
	Lock string `yaml:"lock,omitempty"`
}

// When a run is no evidence at all.
type validityFile struct {
	// Largest share of agent trials that may end in error. Default 0.05.
	MaxErrorRate *share `yaml:"max_error_rate,omitempty"`
}

// Rules that decide the exit code.
type gateFile struct {
	strictyaml.At
	// Chance of a false alarm, over all rules and variants together. Default 0.05, and 0.01 for runs of a schedule.
	Alpha chance `yaml:"alpha,omitempty"`
	// What rules compare with: main, last-green, a run or file:// and a path.
	Baseline string `yaml:"baseline,omitempty"`
	// What a baseline that is not there makes of the rules that need it: note (the default) or inconclusive.
	IfMissing ifMissing `yaml:"if_missing,omitempty"`
	// Refuse what otherwise is a warning: unpinned models, runs that differ in more than they should.
	Strict bool `yaml:"strict,omitempty"`
	// An axis, each value of which must satisfy every rule by itself.
	Per string `yaml:"per,omitempty"`
	numbersFile
	// The tools that servers must list: same as in the baseline, or sha256: and the fingerprint.
	CatalogFingerprint fingerprintRule `yaml:"catalog_fingerprint,omitempty"`
	// Least agreement of the judge with reviews by people (Gwet's AC1), such as ">= 0.8".
	JudgeAgreement rule `yaml:"judge_agreement,omitempty"`
	// Rules on the calls of tools, by the name of the tool.
	Tools map[string]toolGateFile `yaml:"tools,omitempty"`
	// Rules on the cases with a tag, by tag.
	Tags map[string]scopeFile `yaml:"tags,omitempty"`
	// Rules on variants, by AXIS=VALUE, or several of them with commas between.
	Variants map[string]scopeFile `yaml:"variants,omitempty"`
}

// Comparison with a baseline.
type regressionsFile struct {
	strictyaml.At
	// The run to compare with, if the gate names none: main, last-green, a run or file:// and a path.
	Baseline string `yaml:"baseline,omitempty"`
	// Drop of the pass rate that is accepted. It cannot be 0.
	Margin margin `yaml:"margin"`
	// The part of the gate's alpha that is this rule's. Default: an equal one.
	Alpha chance `yaml:"alpha,omitempty"`
	// How cases that look worse are tried again before they count.
	Confirm *confirmFile `yaml:"confirm,omitempty"`
}
