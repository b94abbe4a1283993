package eval

import (
	"cmp"
	"slices"
	"time"
)

// A Kind says what a case drives.
type Kind string

const (
	// KindScript: the suite lists the calls; the server is under test.
	KindScript Kind = "script"
	// KindCatalog: the server's tool listing is under test.
	KindCatalog Kind = "catalog"
	// KindAgent: a model gets a prompt and tools; the agent is under test.
	KindAgent Kind = "agent"
)

// A Case is one input and what must hold. Its strings may hold {{name}}
// placeholders, filled when a trial of it runs.
type Case struct {
	ID    string   `json:"id"`
	Title string   `json:"title,omitempty"`
	Kind  Kind     `json:"kind"`
	Tags  []string `json:"tags,omitempty"`
	// Requires lists the capabilities that a worker must have for the case. It changes
	// nothing that is observed, so it is no part of the case's content.
	Requires []string `json:"-"`
	// Server names the server of the suite that the case talks to. When the
	// suite has a server axis and the case names none, it is empty and the
	// variant decides.
	Server string          `json:"server,omitempty"`
	Vars   map[string]JSON `json:"vars,omitempty"`
	Limits Limits          `json:"limits,omitzero"`

	// Steps of a script case, in order; a single call is one step.
	Steps []Step `json:"steps,omitempty"`
	// StopOnFailure leaves out the steps after the first failing one. Without
	// it only steps that need a missing variable are left out.
	StopOnFailure bool `json:"stop_on_failure,omitempty"`
	// Workflow is true when the case was written as a list of steps: reports
	// then list its steps below it.
	Workflow bool `json:"workflow,omitempty"`

	// Catalog of a catalog case.
	Catalog *Catalog `json:"catalog,omitempty"`

	// Prompt of an agent case: the first thing that the user says.
	Prompt string `json:"prompt,omitempty"`
	// Servers of an agent case that talks to other servers than Server alone.
	Servers []string `json:"servers,omitempty"`
	// Model names the model of an agent case. When it is empty, the variant's
	// model axis decides.
	Model string `json:"model,omitempty"`
	// Namespaced names tools mcp__SERVER__TOOL for the agent also when it has one
	// server.
	Namespaced bool `json:"namespaced,omitempty"`
	// Agent settings, those of the suite included.
	Agent Agent `json:"agent,omitzero"`
	// User is what the user's side does after the prompt. Nil says nothing more.
	User   *User   `json:"user,omitempty"`
	Checks []Check `json:"checks,omitempty"`
	// Threshold is the least weighted mean of the checks' values with which a
	// trial passes. Nil wants every check to pass.
	Threshold *float64 `json:"threshold,omitempty"`
	// Labels put the case into tables: label to value.
	Labels map[string]string `json:"labels,omitempty"`
}

// Limits bound one trial. They are part of the task: a trial that reaches one
// is scored on what it has, unless OnLimit says fail. Zero means no limit.
type Limits struct {
	Turns        int           `json:"turns,omitempty"`
	ToolCalls    int           `json:"tool_calls,omitempty"`
	Tokens       int           `json:"tokens,omitempty"`
	Time         time.Duration `json:"time_ns,omitempty"`
	CostMicroUSD int64         `json:"cost_microusd,omitempty"`
	OnLimit      OnLimit       `json:"on_limit,omitempty"`
}

// OnLimit says what reaching a limit means.
type OnLimit string

const (
	// OnLimitScore scores the trial on what it has. It is the default.
	OnLimitScore OnLimit = "score"
	// OnLimitFail makes the trial fail.
	OnLimitFail OnLimit = "fail"
)

// A Catalog says what a server's tool listing must satisfy.
type Catalog struct {
	// Rules to apply, by name; empty means all.
	Rules []string `json:"rules,omitempty"`
	// MaxContextTokens bounds the estimate of what the listing costs in a
	// model's context. Zero means no bound.
	MaxContextTokens int `json:"max_context_tokens,omitempty"`
	// Fingerprint that the listing must have; empty means any.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Lock is the path of a tools.lock.json to compare the listing with.
	Lock string `json:"lock,omitempty"`
}

// Models names those that a trial of an agent case asks, without judges: the
// agent's, and that of the user if a model plays it.
func (c Case) Models(v Variant) []string {
	names := []string{cmp.Or(c.Model, v.Axes[AxisModel])}
	if c.User != nil && c.User.Model != "" {
		names = append(names, c.User.Model)
	}
	return names
}

// Ref is the case in a snapshot, with its content in a blob.
func (c Case) Ref(blob string) CaseRef {
	ref := CaseRef{
		ID: c.ID, Title: c.Title, Kind: c.Kind, Tags: c.Tags, Workflow: c.Workflow, Labels: c.Labels, Blob: blob,
		Servers: c.Servers, Model: c.Model,
	}
	if c.Server != "" {
		ref.Servers = append([]string{c.Server}, c.Servers...)
	}
	if c.User != nil {
		ref.User = c.User.Model
	}
	ref.Judges = c.Judges()
	c.Checks = bare(c.Checks)
	ref.Checks = Digest(struct {
		Checks    []Check
		Threshold *float64
	}{c.Checks, c.Threshold})
	ref.Sampling = c.Agent.Sampling
	ref.Setup = c.Agent.setup()
	// What it is called, where it is listed, who judges it and who is tried on it is not
	// what it asks.
	c.Title, c.Tags, c.Labels, c.Checks, c.Threshold, c.Workflow = "", nil, nil, nil, nil, false
	c.Server, c.Servers, c.Model, c.Agent = "", nil, "", Agent{}
	if c.User != nil {
		user := *c.User
		user.Model = ""
		c.User = &user
	}
	ref.Task = Digest(c)
	return ref
}

// Judges lists the models that decide checks of the case, by their names in the suite.
func (c Case) Judges() []string {
	var names []string
	collectJudges(c.Checks, &names)
	return names
}

// bare are checks without what was looked up for them when the run started.
func bare(cs []Check) []Check {
	cs = slices.Clone(cs)
	for i, c := range cs {
		if c.Trajectory != nil {
			t := *c.Trajectory
			t.Trajectories = nil
			cs[i].Trajectory = &t
		}
		cs[i].Any, cs[i].All = bare(c.Any), bare(c.All)
	}
	return cs
}

// collectJudges names the models that judge, each once.
func collectJudges(cs []Check, names *[]string) {
	for _, c := range cs {
		if c.Judge != nil && !slices.Contains(*names, c.Judge.Model) {
			*names = append(*names, c.Judge.Model)
		}
		collectJudges(c.Any, names)
		collectJudges(c.All, names)
	}
}
