package eval

// A Suite is cases, the matrix they run over, and the rules that judge a run.
// It is what the loader makes of a suite file and of all that the file includes.
type Suite struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Servers     map[string]Server `json:"servers,omitempty"`
	Models      map[string]Model  `json:"models,omitempty"`
	Axes        []Axis            `json:"axes,omitempty"`
	Exclude     []Exclusion       `json:"exclude,omitempty"`
	// Repeats of agent cases.
	Repeats  Repeats  `json:"repeats,omitzero"`
	Budget   Budget   `json:"budget,omitzero"`
	Validity Validity `json:"validity,omitzero"`
	Gate     Gate     `json:"gate,omitzero"`
	Cases    []Case   `json:"cases"`
	// CaseRepeats holds the repeats that a case asks for itself, by case id.
	CaseRepeats map[string]int `json:"case_repeats,omitempty"`

	// Conditions of the operator's own under which all cases run, by name.
	Conditions map[string]string `json:"conditions,omitempty"`

	// MinRepeats is the fewest repeats from which anything may be claimed about
	// the choice of tools. Zero means any number.
	MinRepeats int `json:"min_repeats,omitempty"`
	// Controlled names what must be equal between two conditions that are
	// compared.
	Controlled []string `json:"controlled,omitempty"`
	// Metrics names what is to be measured and compared of each trial.
	Metrics []string `json:"metrics,omitempty"`
	// MinAgreement is the least agreement with humans, Gwet's AC1, that a judge of
	// the suite must have. Zero means any.
	MinAgreement float64 `json:"min_agreement,omitempty"`
	// Oracle decides, after the run, what no check can.
	Oracle *Oracle `json:"oracle,omitempty"`
}

// An Oracle is a file of answers that no run may see. A run knows its hash
// alone.
type Oracle struct {
	Version string `json:"version,omitempty"`
	// SHA256 of the file, in hex.
	SHA256 string `json:"sha256"`
}

// An Axis is a named list of values. The product of the axes gives variants.
// model, server, loading, protocol and profile are reserved names.
type Axis struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// The reserved axes.
const (
	AxisModel    = "model"
	AxisServer   = "server"
	AxisLoading  = "loading"
	AxisProtocol = "protocol"
	AxisProfile  = "profile"
)

// A Point is one value of an axis and what choosing it sets.
type Point struct {
	Value string `json:"value"`
	// Vars fill {{name}} in cases.
	Vars map[string]JSON `json:"vars,omitempty"`
	// Env is added to command servers, Headers to URL servers.
	Env     map[string]string `json:"env,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Agent settings of agent cases.
	Agent Agent `json:"agent,omitzero"`
}

// An Exclusion is a partial variant, optionally with a tag; matching cells do
// not exist.
type Exclusion struct {
	Axes map[string]string `json:"axes,omitempty"`
	Tag  string            `json:"tag,omitempty"`
}

// Repeats says how often an agent case runs in each variant: N, or between Min
// and Max with exactly one of the two ways to choose.
type Repeats struct {
	N    int    `json:"n,omitempty"`
	Min  int    `json:"min,omitempty"`
	Max  int    `json:"max,omitempty"`
	Fit  string `json:"fit,omitempty"`  // "budget"
	Stop string `json:"stop,omitempty"` // StopDecided
}

// StopDecided ends the repeats of a run when its gate is decided.
const StopDecided = "decided"

// mostLooks bounds how often a run is looked at before it is decided. More of them
// save little and make each one stricter.
const mostLooks = 10

// Looks are the rounds after which a run of such repeats may stop, in order: each one
// from Min to Max, or at even distances if they are many. Nil unless repeats stop when
// the run is decided.
func (r Repeats) Looks() []int {
	if r.Stop != StopDecided {
		return nil
	}
	step := max(1, (r.Max-r.Min+mostLooks-2)/(mostLooks-1))
	var looks []int
	for round := r.Min; round < r.Max; round += step {
		looks = append(looks, round)
	}
	return append(looks, r.Max)
}

// Validity says when a run is no evidence at all.
type Validity struct {
	// MaxErrorRate of agent trials. Nil means 0.05.
	MaxErrorRate *float64 `json:"max_error_rate,omitempty"`
}

// ErrorRate is the share of trials that may end in an error before a run proves
// nothing.
func (v Validity) ErrorRate() float64 {
	if v.MaxErrorRate == nil {
		return 0.05
	}
	return *v.MaxErrorRate
}
