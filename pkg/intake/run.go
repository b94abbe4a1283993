package intake

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// Options say how a file is read.
type Options struct {
	// File is its path, for messages and the origin of the run; "-" is standard input.
	// One that ends in ".gz" is packed.
	File string
	// Suite that the run is of.
	Suite string
	Map   Map
	// Git commit that was evaluated; nil if nobody says.
	Git *eval.Git
	// Version of this evalfarm.
	Version string
}

// A Run is a finished run as it was found in a file.
type Run struct {
	// Snapshot has the plan of the run, with as many repeats of each cell as the file
	// has trials of it, and its Origin. Cases are the blobs of its cases.
	Snapshot eval.Snapshot
	Cases    []eval.Blob
	// Unread names fields of the file that were not read, at most 100.
	Unread []string

	in      io.ReadSeeker
	options Options
	cells   map[cellKey]*cell
}

const (
	// mostTrials and mostCases are those of a suite.
	mostTrials = 5_000_000
	mostCases  = 100_000
	// mostSlots bounds rounds × cells: the order of a plan is found round by round,
	// among all cells.
	mostSlots = 200_000_000
	// mostUnread bounds what is told of fields that were not read.
	mostUnread = 100
)

// A cellKey names a cell.
type cellKey struct{ kase, variant string }

// A cell gathers which repeats a cell has, in which lines.
type cell struct {
	variant eval.Variant
	// numbered says that the lines number the repeats; else their order does.
	numbered bool
	lines    []place
	// ordinals of the repeats, once the plan is known, and how many were handed over
	// if they have no numbers.
	ordinals []int32
	next     int
}

type place struct {
	repeat int64
	line   int32
}

// Read checks every line of a file of JSON lines and lays out the run. It fails with
// a [*ProblemError] at the first line that cannot be used.
func Read(ctx context.Context, in io.ReadSeeker, o Options) (*Run, error) {
	r := &Run{in: in, options: o, cells: map[cellKey]*cell{}}
	g := gathering{run: r, cases: map[string]*eval.Case{}, unread: map[string]bool{}}
	m := newMapping(o.Map)
	sum, err := r.eachLine(ctx, m, g.add)
	if err != nil {
		return nil, err
	}
	for _, p := range m.pairs {
		if p.theirs != "" && !p.found && g.trials > 0 {
			fields := slices.Sorted(maps.Keys(g.unread))
			hint := strictyaml.DidYouMean(p.theirs, fields)
			if hint == "" {
				hint = "fields that are not read: " + strings.Join(fields, ", ")
			}
			return nil, r.problem(hint, "no line has the field %s", strictyaml.Quote(p.theirs))
		}
	}
	if g.trials == 0 {
		return nil, r.problem(`a line is one trial: {"case": "refund", "score": 1}`, "there are no trials")
	}
	if err := r.number(); err != nil {
		return nil, err
	}
	r.Snapshot = eval.Snapshot{Version: o.Version, Suite: o.Suite, Git: o.Git, Origin: &eval.Origin{
		Format: "jsonl", File: filepath.Base(o.File), SHA256: sum, Map: o.Map,
	}}
	r.layOut(g.cases)
	r.Unread = slices.Sorted(maps.Keys(g.unread))
	return r, r.order()
}

// problem is one of the file as a whole.
func (r *Run) problem(hint, format string, args ...any) error {
	return &ProblemError{strictyaml.Problem{File: r.options.File, Message: fmt.Sprintf(format, args...), Hint: hint}}
}

// eachLine reads the lines of the file and gives the sha256 of them all.
func (r *Run) eachLine(ctx context.Context, m *mapping, fn func(n int, l *line, fields map[string]eval.JSON, m *mapping) error) (string, error) {
	in, err := r.lines()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", r.options.File, err)
	}
	for {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		raw, err := in.next()
		if errors.Is(err, io.EOF) {
			return in.sum(), nil
		}
		if err != nil {
			return "", problem(r.options.File, in.n, nil, err)
		}
		l, fields, err := parse(raw, m)
		if err == nil {
			err = fn(in.n, l, fields, m)
		}
		if _, ours := errors.AsType[*mistake](err); ours {
			return "", problem(r.options.File, in.n, raw, err)
		}
		if err != nil {
			return "", err
		}
	}
}

// gathering is what the first look at a file finds.
type gathering struct {
	run    *Run
	cases  map[string]*eval.Case
	unread map[string]bool
	trials int
}

func (g *gathering) add(n int, l *line, fields map[string]eval.JSON, m *mapping) error {
	if g.trials++; g.trials > mostTrials {
		return wrong("", "", "the file has more than %d trials", mostTrials)
	}
	for name := range fields {
		if len(g.unread) < mostUnread && !m.taken[name] && (&line{}).field(name) == nil {
			g.unread[name] = true
		}
	}
	if err := g.kase(l, m); err != nil {
		return err
	}
	key, v := l.cell()
	c := g.run.cells[key]
	if c == nil {
		c = &cell{variant: v, numbered: l.Repeat != nil}
		g.run.cells[key] = c
	}
	if c.numbered != (l.Repeat != nil) {
		return wrong(m.name("repeat"), "number all lines of a cell, or none", "some lines of case %s have a repeat, and others have none", strictyaml.Quote(string(l.Case)))
	}
	repeat := int64(len(c.lines))
	if c.numbered {
		repeat = int64(*l.Repeat)
	}
	c.lines = append(c.lines, place{repeat, int32(n)})
	return nil
}

// kase adds what a line says of its case.
func (g *gathering) kase(l *line, m *mapping) error {
	kind := cmp.Or(l.Kind, eval.KindAgent)
	c := g.cases[string(l.Case)]
	switch {
	case c == nil && len(g.cases) == mostCases:
		return wrong(m.name("case"), "a case is a task, of which the lines are trials", "the file has more than %d cases", mostCases)
	case c == nil:
		c = &eval.Case{ID: string(l.Case), Kind: kind, Labels: l.Labels}
		g.cases[c.ID] = c
	case c.Kind != kind:
		return wrong(m.name("kind"), "", "case %s is of kind %s, and of kind %s in an earlier line", strictyaml.Quote(c.ID), kind, c.Kind)
	}
	for _, tag := range l.Tags {
		if !slices.Contains(c.Tags, tag) {
			c.Tags = append(c.Tags, tag)
		}
	}
	return nil
}

// cell names the cell of a line.
func (l *line) cell() (cellKey, eval.Variant) {
	axes := make(map[string]string, len(l.Axes))
	for axis, value := range l.Axes {
		axes[axis] = string(value)
	}
	v := eval.NewVariant(axes)
	return cellKey{string(l.Case), v.ID}, v
}

// number brings the repeats of each cell into their order.
func (r *Run) number() error {
	var twice place
	var of cellKey
	var first int32
	for key, c := range r.cells {
		slices.SortFunc(c.lines, func(a, b place) int {
			return cmp.Or(cmp.Compare(a.repeat, b.repeat), cmp.Compare(a.line, b.line))
		})
		for i := 1; i < len(c.lines); i++ {
			a, b := c.lines[i-1], c.lines[i]
			if a.repeat == b.repeat && (twice.line == 0 || b.line < twice.line) {
				twice, of, first = b, key, a.line
			}
		}
	}
	if twice.line == 0 {
		return nil
	}
	raw, err := r.line(int(twice.line))
	if err != nil {
		return err
	}
	return problem(r.options.File, int(twice.line), raw, wrong(newMapping(r.options.Map).name("repeat"),
		"if these are different variants, say what differs: --map axes.model=FIELD; to count lines instead: --map repeat=",
		"case %s [%s] has repeat %d already, in line %d", strictyaml.Quote(of.kase), of.variant, twice.repeat, first))
}

// line reads a line of the file again.
func (r *Run) line(n int) ([]byte, error) {
	in, err := r.lines()
	for err == nil {
		var raw []byte
		if raw, err = in.next(); err == nil && in.n == n {
			return raw, nil
		}
	}
	return nil, fmt.Errorf("read %s again: %w", r.options.File, err)
}

// lines begins at the start of the file.
func (r *Run) lines() (*lines, error) {
	return readLines(r.in, strings.HasSuffix(r.options.File, ".gz"))
}

// layOut makes the cases, variants and cells of the snapshot, in an order that the
// order of lines has no part in.
func (r *Run) layOut(cases map[string]*eval.Case) {
	snap := &r.Snapshot
	variants, values := map[string]eval.Variant{}, map[string]map[string]bool{}
	for key, c := range r.cells {
		variants[key.variant] = c.variant
		for axis, value := range c.variant.Axes {
			if values[axis] == nil {
				values[axis] = map[string]bool{}
			}
			values[axis][value] = true
		}
	}
	content := eval.Suite{Name: snap.Suite}
	caseAt, variantAt := map[string]int{}, map[string]int{}
	for i, id := range slices.SortedFunc(maps.Keys(cases), byNumber) {
		c := cases[id]
		packed := blob.Pack(eval.Encode(c))
		caseAt[id] = i
		content.Cases = append(content.Cases, *c)
		r.Cases = append(r.Cases, packed)
		snap.Cases = append(snap.Cases, eval.CaseRef{ID: c.ID, Kind: c.Kind, Tags: c.Tags, Labels: c.Labels, Blob: packed.SHA256})
	}
	for i, id := range slices.Sorted(maps.Keys(variants)) {
		variantAt[id] = i
		snap.Variants = append(snap.Variants, variants[id])
	}
	for _, axis := range slices.Sorted(maps.Keys(values)) {
		a := eval.Axis{Name: axis}
		for _, value := range slices.Sorted(maps.Keys(values[axis])) {
			a.Points = append(a.Points, eval.Point{Value: value})
		}
		snap.Axes = append(snap.Axes, a)
	}
	content.Axes = snap.Axes
	hash := sha256.Sum256(eval.Encode(content))
	snap.SuiteHash = "sha256:" + hex.EncodeToString(hash[:])
	for key, c := range r.cells {
		snap.Plan.Cells = append(snap.Plan.Cells, eval.Cell{Case: caseAt[key.kase], Variant: variantAt[key.variant], Repeats: len(c.lines)})
	}
	slices.SortFunc(snap.Plan.Cells, func(a, b eval.Cell) int {
		return cmp.Or(cmp.Compare(a.Case, b.Case), cmp.Compare(a.Variant, b.Variant))
	})
}

// byNumber compares names: numbers by their value, and before others.
func byNumber(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	switch {
	case errX == nil && errY == nil:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// order finds the ordinal of every repeat.
func (r *Run) order() error {
	plan := r.Snapshot.Plan
	if plan.Rounds()*len(plan.Cells) > mostSlots {
		return r.problem("see whether --map case= names the field that tells tasks apart",
			"one cell has %d trials, and there are %d cells: that is too uneven", plan.Rounds(), len(plan.Cells))
	}
	at := make([]*cell, len(plan.Cells))
	for i, c := range plan.Cells {
		at[i] = r.cells[cellKey{r.Snapshot.Cases[c.Case].ID, r.Snapshot.Variants[c.Variant].ID}]
		at[i].ordinals = make([]int32, c.Repeats)
	}
	order := eval.NewOrder(plan)
	for ordinal := range plan.Trials() {
		i, repeat, err := order.At(ordinal)
		if err != nil {
			return err
		}
		at[i].ordinals[repeat-1] = int32(ordinal)
	}
	return nil
}

// Each reads the file again and hands over the record of each trial, in the order of
// lines, without the run and the UID. It may be called once. It fails if the file is
// no longer what it was.
func (r *Run) Each(ctx context.Context, fn func(eval.Record) error) error {
	changed := fmt.Errorf("%s was changed while it was read", r.options.File)
	sum, err := r.eachLine(ctx, newMapping(r.options.Map), func(_ int, l *line, _ map[string]eval.JSON, _ *mapping) error {
		key, _ := l.cell()
		c := r.cells[key]
		if c == nil || c.numbered != (l.Repeat != nil) {
			return changed
		}
		i := c.next
		if c.next++; c.numbered {
			var found bool
			i, found = slices.BinarySearchFunc(c.lines, int64(*l.Repeat), func(p place, n int64) int { return cmp.Compare(p.repeat, n) })
			if !found {
				return changed
			}
		}
		if i >= len(c.ordinals) {
			return changed
		}
		record := l.record()
		record.Ordinal = int(c.ordinals[i])
		return fn(record)
	})
	if err != nil {
		return err
	}
	if sum != r.Snapshot.Origin.SHA256 {
		return changed
	}
	return nil
}
