package eval

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"
)

// An Arm is what a comparison needs of a run: of each cell what it came to in
// complete rounds, and under which conditions. It is small enough to be committed,
// and a baseline in a file is one.
type Arm struct {
	// Format of the document; see [ArmFormat].
	Format    int        `json:"format"`
	Run       string     `json:"run"`
	Suite     string     `json:"suite"`
	SuiteHash string     `json:"suite_hash"`
	Outcome   RunOutcome `json:"outcome,omitempty"`
	Verdict   RunVerdict `json:"verdict,omitempty"`
	// Runs is how many runs are pooled in it; 1 for a single one.
	Runs    int       `json:"runs"`
	Git     *Git      `json:"git,omitempty"`
	Version string    `json:"version"`
	Created time.Time `json:"created"`
	Note    string    `json:"note,omitempty"`
	Cells   []ArmCell `json:"cells"`
	// Tools has the latency of each tool's calls.
	Tools []ToolStats `json:"tools,omitempty"`
	// Kinds has the percentiles of latency, cost, tokens and turns.
	Kinds map[Kind]Stats `json:"kinds,omitempty"`
}

// ArmFormat is the format of [Arm] that this build writes, and the newest that it
// reads.
const ArmFormat = 1

// An ArmCell is a cell in an arm.
type ArmCell struct {
	Case    string            `json:"case"`
	Variant string            `json:"variant"`
	Axes    map[string]string `json:"axes,omitempty"`
	Kind    Kind              `json:"kind"`
	Tags    []string          `json:"tags,omitempty"`
	// Counts of the trials of complete rounds; Planned is how many there should have
	// been in all rounds.
	Counts  VerdictCounts `json:"counts"`
	Planned int           `json:"planned"`
	// MedianMS is the median latency of a trial, 0 if there is none; MicroUSD what its
	// trials cost on average, null if nobody knows.
	MedianMS float64  `json:"median_ms,omitempty"`
	MicroUSD *float64 `json:"microusd,omitempty"`
	// Conditions under which it was measured, by name. Where they differ the cell is
	// excluded from a comparison, or it is told.
	Conditions map[string]string `json:"conditions"`
}

// Key is what names the cell: its case and its variant.
func (c ArmCell) Key() string { return c.Case + "\x00" + c.Variant }

// Conditions of a cell. What is not listed here is a condition of the operator's own,
// by its name in the suite.
const (
	ConditionCase     = "case"     // prompt, calls, vars, limits: all but the checks
	ConditionChecks   = "checks"   // the checks and the threshold
	ConditionJudge    = "judge"    // the models that judge
	ConditionModel    = "model"    // provider, name and address of the agent's models
	ConditionSampling = "sampling" // how the models are asked to generate
	ConditionServer   = "server"   // name and version that the servers tell
	ConditionRevision = "revision" // of the servers, as the suite says
	ConditionListing  = "listing"  // fingerprint of the tools
	ConditionPrices   = "prices"   // the price list; it matters for costs alone
)

// NewArm makes the arm of a run from its snapshot and its summary.
func NewArm(snap Snapshot, s Summary) Arm {
	arm := Arm{
		Format: ArmFormat, Run: s.Run, Suite: s.Suite, SuiteHash: s.SuiteHash, Outcome: s.Outcome, Verdict: s.Verdict, Runs: 1,
		Git: s.Git, Version: s.Version, Created: s.Started, Tools: s.Tools, Kinds: s.Kinds,
	}
	for i, cell := range s.Cells {
		at := snap.Plan.Cells[i]
		variant := snap.Variants[at.Variant]
		c := ArmCell{
			Case: cell.Case, Variant: cell.Variant, Axes: variant.Axes, Kind: cell.Kind, Tags: cell.Tags,
			Counts: cell.Settled(), Planned: cell.Repeats, MedianMS: cell.Latency.P50,
			Conditions: snap.conditions(snap.Cases[at.Case], variant),
		}
		if cell.Cost.N > 0 {
			c.MicroUSD = cell.CostMean
		}
		set(c.Conditions, ConditionServer, strings.Join(cell.Servers, ", "))
		set(c.Conditions, ConditionListing, strings.Join(cell.Listings, ", "))
		arm.Cells = append(arm.Cells, c)
	}
	return arm
}

// conditions of a cell as far as the snapshot knows them.
func (s Snapshot) conditions(of CaseRef, v Variant) map[string]string {
	c := maps.Clone(s.Conditions)
	if c == nil {
		c = map[string]string{}
	}
	set(c, ConditionCase, of.Task)
	set(c, ConditionChecks, of.Checks)
	var revisions []string
	servers := of.Servers
	if len(servers) == 0 && v.Axes[AxisServer] != "" {
		servers = []string{v.Axes[AxisServer]}
	}
	for _, name := range servers {
		if r := s.Servers[name].Revision; r != "" {
			revisions = append(revisions, name+" "+r)
		}
	}
	set(c, ConditionRevision, strings.Join(revisions, ", "))
	if of.Kind != KindAgent {
		return c
	}
	models := []string{cmp.Or(of.Model, v.Axes[AxisModel])}
	if of.User != "" {
		models = append(models, of.User)
	}
	var who, how []string
	for _, name := range models {
		m := s.Models[name]
		who = append(who, s.who(name))
		sampling := m.Sampling
		for _, axis := range s.Axes {
			for _, p := range axis.Points {
				if v.Axes[axis.Name] == p.Value {
					sampling = sampling.Over(p.Agent.Sampling)
				}
			}
		}
		how = append(how, string(Encode(sampling)))
	}
	set(c, ConditionModel, strings.Join(who, ", "))
	set(c, ConditionSampling, strings.Join(how, ", "))
	var judges []string
	for _, name := range of.Judges {
		judges = append(judges, s.who(name)+" "+string(Encode(s.Models[name].Sampling)))
	}
	set(c, ConditionJudge, strings.Join(judges, ", "))
	set(c, ConditionPrices, s.Prices)
	return c
}

// who a model is: its provider, its name there, its address if it has one of its own,
// and what it follows if it is scripted.
func (s Snapshot) who(name string) string {
	m, ok := s.Models[name]
	if !ok {
		return name
	}
	words := []string{string(m.Provider), m.Model, m.BaseURL}
	if m.Policy != nil {
		words = append(words, Digest(m.Policy))
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

func set(c map[string]string, name, value string) {
	if value != "" {
		c[name] = value
	}
}

// Digest is a short name of a value's content: 16 hex digits of the sha256 of its
// canonical form.
func Digest(v any) string {
	tree, err := Decode(Encode(v))
	if err != nil {
		panic("digest: " + err.Error()) // Encode has just written it
	}
	sum := sha256.Sum256(Encode(tree))
	return hex.EncodeToString(sum[:8])
}
