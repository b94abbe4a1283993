package eval

// A Snapshot is what a run froze at its start: everything that a worker needs
// except the cases, which are blobs of their own. It is stored as one blob, the
// header, whose sha256 travels in every job.
type Snapshot struct {
	// Version of evalfarm that made the snapshot.
	Version string `json:"version"`
	Suite   string `json:"suite"`
	// SuiteHash is the hash of the suite's canonical content; formatting and
	// comments do not change it.
	SuiteHash string `json:"suite_hash"`
	// Dir is the folder of the suite file, for commands with relative paths.
	Dir string `json:"dir,omitempty"`
	Git *Git   `json:"git,omitempty"`
	// Traceparent is the W3C trace context of who asked for the run, such as the step
	// of a pipeline; empty if nobody said. It decides nothing.
	Traceparent string `json:"traceparent,omitempty"`
	// Origin of a run that was imported.
	Origin   *Origin           `json:"origin,omitempty"`
	Servers  map[string]Server `json:"servers,omitempty"`
	Models   map[string]Model  `json:"models,omitempty"`
	Axes     []Axis            `json:"axes,omitempty"`
	Variants []Variant         `json:"variants"`
	Cases    []CaseRef         `json:"cases"`
	Plan     Plan              `json:"plan"`
	// Partial is true for a run of a part of the suite: some of its cases, or of the
	// values of its axes.
	Partial bool `json:"partial,omitempty"`
	// Prices names the version of the price list that the models' prices are from.
	Prices   string   `json:"prices,omitempty"`
	Gate     Gate     `json:"gate,omitzero"`
	Validity Validity `json:"validity,omitzero"`
	// MinRepeats is the fewest repeats from which the suite lets anything be claimed
	// about the choice of tools; Metrics names what it wants to see of each variant,
	// and Controlled what must be equal between variants that are compared.
	MinRepeats int      `json:"min_repeats,omitempty"`
	Metrics    []string `json:"metrics,omitempty"`
	Controlled []string `json:"controlled,omitempty"`
	// Oracle decides, after the run, what no check can.
	Oracle *Oracle `json:"oracle,omitempty"`
	// Judge is the model that judges where nothing else is said: that of the first
	// judge check.
	Judge string `json:"judge,omitempty"`
	// MinAgreement is the least agreement with humans, Gwet's AC1, that a judge of
	// the suite must have. Zero means any.
	MinAgreement float64 `json:"min_agreement,omitempty"`
	// Conditions of the operator's own under which all cells run, by name: a fixture's
	// revision, permissions. Two runs are compared where they are equal.
	Conditions map[string]string `json:"conditions,omitempty"`
	// Baseline that the gate compares with, as it was when the run started. Nil: no
	// rule compares.
	Baseline *BaselineRef `json:"baseline,omitempty"`
	// Agreement of the judge with people, by the reviews of an earlier run that was
	// judged alike. Nil: there are none, or no rule of the gate asks for it.
	Agreement *Agreement `json:"agreement,omitempty"`
	// Waivers and Quarantines that are to be applied.
	Waivers     []Waiver     `json:"waivers,omitempty"`
	Quarantines []Quarantine `json:"quarantines,omitempty"`
	// Grading is set in the snapshot of a grading.
	Grading *Grading `json:"grading,omitempty"`
}

// A Grading is one pass of scoring over the stored trials of a run. The first
// belongs to the run itself; judging again adds another.
type Grading struct {
	Run string `json:"run"`
	// Rubric judges every trial by this one instead of the rubrics of its case.
	Rubric string `json:"rubric,omitempty"`
	// Model judges instead of the models that the checks name.
	Model string `json:"model,omitempty"`
	// By says who scored when it was no judge: a reviewer, an oracle.
	By string `json:"by,omitempty"`
}

// A CaseRef is a case in a snapshot: what lists need, and the blob that holds
// the rest.
type CaseRef struct {
	ID       string   `json:"id"`
	Title    string   `json:"title,omitempty"`
	Kind     Kind     `json:"kind"`
	Tags     []string `json:"tags,omitempty"`
	Workflow bool     `json:"workflow,omitempty"`
	// Labels put the case into tables: label to value.
	Labels map[string]string `json:"labels,omitempty"`
	// Blob is the sha256 of the case's canonical JSON.
	Blob string `json:"blob"`
	// Task is the [Digest] of what the case asks, Checks that of the checks and the
	// threshold, Setup that of the settings of its agent but for the Sampling.
	Task     string   `json:"task,omitempty"`
	Checks   string   `json:"checks,omitempty"`
	Setup    string   `json:"setup,omitempty"`
	Sampling Sampling `json:"sampling,omitzero"`
	// Servers that the case names, Model of its agent, User that plays the user, and
	// Judges, by their names in the suite. What is empty the variant decides.
	Servers []string `json:"servers,omitempty"`
	Model   string   `json:"model,omitempty"`
	User    string   `json:"user,omitempty"`
	Judges  []string `json:"judges,omitempty"`
}

// A BaselineRef is the baseline of a run, resolved.
type BaselineRef struct {
	// Name as it was asked for.
	Name string `json:"name"`
	// Run that it was, empty if there was none.
	Run string `json:"run,omitempty"`
	// Arm is the sha256 of the blob with its [Arm]. History is that of an arm that
	// pools it with earlier runs under the same conditions.
	Arm     string `json:"arm,omitempty"`
	History string `json:"history,omitempty"`
	// Missing says why there is none.
	Missing string `json:"missing,omitempty"`
}

// Git says which commit a suite file came from.
type Git struct {
	Commit string `json:"commit"`
	// Branch that was checked out; empty for none.
	Branch string `json:"branch,omitempty"`
	// Dirty is true when the work tree differs from the commit.
	Dirty bool `json:"dirty,omitempty"`
}

// A Trial names one observation of a run and resolves what it runs.
type Trial struct {
	Run     string  `json:"run"`
	Ordinal int     `json:"ordinal"`
	Case    CaseRef `json:"case"`
	Variant Variant `json:"variant"`
	Repeat  int     `json:"repeat"`
	Seed    uint64  `json:"seed"`
}
