package intake

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"math"
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

	in      io.ReaderAt
	options Options
	// trials are the lines of each cell of the plan, by repeat.
	trials [][]place
	seed   maphash.Seed
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

// A cell gathers which repeats a cell has, and where.
type cell struct {
	variant eval.Variant
	// numbered says that the lines number the repeats; else their order does.
	numbered bool
	lines    []place
}

// A place is where the line of a trial is.
type place struct {
	repeat int64
	offset int64
	length int32
	line   int32
	// hash of the line, to notice when it is another one.
	hash uint64
}

// Read checks every line of a file of JSON lines and lays out the run. It fails with
// a [*ProblemError] at the first line that cannot be used.
func Read(ctx context.Context, in io.ReaderAt, o Options) (*Run, error) {
	r := &Run{in: in, options: o, seed: maphash.MakeSeed()}
	g := gathering{run: r, mapping: newMapping(o.Map), cells: map[cellKey]*cell{}, cases: map[string]*eval.Case{}, unread: map[string]bool{}}
	sum, err := g.look(ctx)
	if err != nil {
		return nil, err
	}
	r.Unread = slices.Sorted(maps.Keys(g.unread))
	r.Snapshot = eval.Snapshot{Version: o.Version, Suite: o.Suite, Git: o.Git, Origin: &eval.Origin{
		Format: "jsonl", File: filepath.Base(o.File), SHA256: sum, Map: o.Map,
	}}
	if err := g.check(); err != nil {
		return nil, err
	}
	g.layOut()
	if plan := r.Snapshot.Plan; plan.Rounds()*len(plan.Cells) > mostSlots {
		return nil, r.problem("see whether --map case= names the field that tells tasks apart",
			"one cell has %d trials, and there are %d cells: that is too uneven", plan.Rounds(), len(plan.Cells))
	}
	return r, nil
}

// problem is one of the file as a whole.
func (r *Run) problem(hint, format string, args ...any) error {
	return &ProblemError{strictyaml.Problem{File: r.options.File, Message: clean(fmt.Sprintf(format, args...)), Hint: clean(hint)}}
}

// gathering is what the look at a file finds.
type gathering struct {
	run     *Run
	mapping *mapping
	cells   map[cellKey]*cell
	cases   map[string]*eval.Case
	unread  map[string]bool
	trials  int
}

// look reads the lines of the file and gives the sha256 of them all.
func (g *gathering) look(ctx context.Context) (string, error) {
	file := g.run.options.File
	in := newLines(io.NewSectionReader(g.run.in, 0, math.MaxInt64))
	for {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		raw, err := in.next()
		if errors.Is(err, io.EOF) {
			return in.sum(), nil
		}
		if err == nil {
			at := place{offset: in.offset, hash: maphash.Bytes(g.run.seed, raw)}
			at.length, at.line = int32(len(raw)), int32(in.n) //nolint:gosec // lines has bounds for both
			err = g.add(raw, at)
		}
		if err != nil {
			return "", problem(file, in.n, raw, err)
		}
	}
}

// add takes in one line.
func (g *gathering) add(raw []byte, at place) error {
	m := g.mapping
	l, fields, err := parse(raw, m)
	if err != nil {
		return err
	}
	if g.trials++; g.trials > mostTrials {
		return wrong("", "", "the file has more than %d trials", mostTrials)
	}
	for name := range fields {
		if len(g.unread) < mostUnread && !m.taken[name] && !m.opened[name] && l.field(name) == nil {
			g.unread[name] = true
		}
	}
	if err := g.kase(l); err != nil {
		return err
	}
	key, v := l.cell()
	c := g.cells[key]
	if c == nil {
		c = &cell{variant: v, numbered: l.Repeat != nil}
		g.cells[key] = c
	}
	if c.numbered != (l.Repeat != nil) {
		return wrong(m.name("repeat"), "number all lines of a cell, or none", "some lines of case %s have a repeat, and others have none", strictyaml.Quote(string(l.Case)))
	}
	if at.repeat = int64(len(c.lines)); c.numbered {
		at.repeat = int64(*l.Repeat)
	}
	c.lines = append(c.lines, at)
	return nil
}

// kase adds what a line says of its case.
func (g *gathering) kase(l *line) error {
	m := g.mapping
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

// check says what is wrong with the file as a whole, and brings the repeats of each
// cell into their order.
func (g *gathering) check() error {
	if g.trials == 0 {
		return g.run.problem(`a line is one trial: {"case": "refund", "score": 1}`, "there are no trials")
	}
	for _, p := range g.mapping.pairs {
		if p.theirs != "" && !p.found {
			hint := strictyaml.DidYouMean(p.theirs, g.run.Unread)
			if hint == "" {
				hint = "fields that are not read: " + strings.Join(g.run.Unread, ", ")
			}
			return g.run.problem(hint, "no line has the field %s", strictyaml.Quote(p.theirs))
		}
	}
	var twice place
	var of cellKey
	var first int32
	for key, c := range g.cells {
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
	raw, err := g.run.line(twice, nil)
	if err != nil {
		return err
	}
	return problem(g.run.options.File, int(twice.line), raw, wrong(g.mapping.name("repeat"),
		"if these are different variants, say what differs: --map axes.model=FIELD; to count lines instead: --map repeat=",
		"case %s [%s] has repeat %d already, in line %d", strictyaml.Quote(of.kase), of.variant, twice.repeat, first))
}

// layOut makes the cases, variants and cells of the snapshot, in an order that the
// order of lines has no part in.
func (g *gathering) layOut() {
	r := g.run
	snap := &r.Snapshot
	variants, values := map[string]eval.Variant{}, map[string]map[string]bool{}
	for key, c := range g.cells {
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
	for i, id := range slices.SortedFunc(maps.Keys(g.cases), byNumber) {
		c := g.cases[id]
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
	for key, c := range g.cells {
		snap.Plan.Cells = append(snap.Plan.Cells, eval.Cell{Case: caseAt[key.kase], Variant: variantAt[key.variant], Repeats: len(c.lines)})
	}
	slices.SortFunc(snap.Plan.Cells, func(a, b eval.Cell) int {
		return cmp.Or(cmp.Compare(a.Case, b.Case), cmp.Compare(a.Variant, b.Variant))
	})
	for _, c := range snap.Plan.Cells {
		r.trials = append(r.trials, g.cells[cellKey{snap.Cases[c.Case].ID, snap.Variants[c.Variant].ID}].lines)
	}
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

// Each hands over the record of each trial by its ordinal, without the run and the
// UID. It fails if the file is no longer what it was.
func (r *Run) Each(ctx context.Context, fn func(eval.Record) error) error {
	m := newMapping(r.options.Map)
	order := eval.NewOrder(r.Snapshot.Plan)
	var raw []byte
	for ordinal := range r.Snapshot.Plan.Trials() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		i, repeat, err := order.At(ordinal)
		if err != nil {
			return err
		}
		at := r.trials[i][repeat-1]
		if raw, err = r.line(at, raw); err != nil {
			return err
		}
		l, _, err := parse(raw, m)
		if err != nil {
			return problem(r.options.File, int(at.line), raw, err)
		}
		record := l.record()
		record.Ordinal = ordinal
		if err := fn(record); err != nil {
			return err
		}
	}
	return nil
}

// line reads a line again, into a buffer if that is large enough.
func (r *Run) line(at place, buf []byte) ([]byte, error) {
	buf = slices.Grow(buf[:0], int(at.length))[:at.length]
	n, err := r.in.ReadAt(buf, at.offset)
	if err != nil && !errors.Is(err, io.EOF) { // which may come with the last bytes
		return nil, fmt.Errorf("read %s again: %w", r.options.File, err)
	}
	if maphash.Bytes(r.seed, buf[:n]) != at.hash {
		return nil, fmt.Errorf("%s was changed while it was read", r.options.File)
	}
	return buf, nil
}
