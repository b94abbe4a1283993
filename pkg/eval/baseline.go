package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// LastGreen names the last run of a suite that passed: complete, of the whole suite,
// and on the same branch if that is known.
const LastGreen = "last-green"

// BaselineFile is the path of a baseline in a file, file:// and a path.
func BaselineFile(name string) (path string, ok bool) { return strings.CutPrefix(name, "file://") }

// MaxArmBytes bounds an arm in a file: that of a million trials has less.
const MaxArmBytes = 64 << 20

// DecodeArm reads an arm from a file's content. What it does not know, or what no run
// can have come to, is an error.
func DecodeArm(raw []byte) (Arm, error) {
	if len(raw) > MaxArmBytes {
		return Arm{}, fmt.Errorf("it is larger than %d MiB", MaxArmBytes>>20)
	}
	// The format comes first: what a newer one has is no mistake.
	var head struct{ Format int }
	if err := json.Unmarshal(raw, &head); err != nil {
		return Arm{}, placed(raw, err)
	}
	switch {
	case head.Format < 1:
		return Arm{}, errors.New("it is no baseline: it has no format")
	case head.Format > ArmFormat:
		return Arm{}, fmt.Errorf("it has format %d, and this evalfarm reads up to %d", head.Format, ArmFormat)
	}
	var arm Arm
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&arm); err != nil {
		return Arm{}, placed(raw, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Arm{}, errors.New("there is text after the document")
	}
	return arm, arm.check()
}

// maxPlanned bounds the trials of a cell in a file: exact tests look at each number of
// them.
const maxPlanned = 1_000_000

// check finds what no run can have come to.
func (a Arm) check() error {
	if a.Runs < 1 {
		return errors.New("it is of no run")
	}
	seen := map[string]bool{}
	for _, c := range a.Cells {
		for _, v := range Verdicts() { // before their sum, which may be too large for an int
			if n := c.Counts.Of(v); n < 0 || n > maxPlanned {
				return fmt.Errorf("the cell %.200q has %d trials with the verdict %s", c.Case, n, v)
			}
		}
		switch {
		case c.Case == "" || c.Kind == "":
			return errors.New("a cell has no case or no kind")
		case seen[c.Key()]:
			return fmt.Errorf("the cell %.200q in the variant %.200q is there twice", c.Case, c.Variant)
		case c.Planned > maxPlanned:
			return fmt.Errorf("the cell %.200q has %d trials; at most %d can be compared", c.Case, c.Planned, maxPlanned)
		case c.MedianMS < 0 || c.MicroUSD != nil && *c.MicroUSD < 0:
			return fmt.Errorf("the cell %.200q has a latency or a cost below 0", c.Case)
		case c.Planned < 0 || c.Counts.Total() > c.Planned:
			return fmt.Errorf("the cell %.200q has %d trials of %d", c.Case, c.Counts.Total(), c.Planned)
		}
		seen[c.Key()] = true
	}
	return nil
}

// placed says at which line and column of a document a decoder stopped, if it says so.
func placed(raw []byte, err error) error {
	var at int64
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	} else if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = kind.Offset
	} else {
		return err
	}
	before := raw[:min(max(int(at)-1, 0), len(raw))]
	line, column := bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("%d:%d: %w", line, column, err)
}

// EncodeArm writes an arm for a file: indented, and the same bytes for the same arm.
func EncodeArm(a Arm) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, Encode(a), "", "  "); err != nil {
		return nil, fmt.Errorf("encode the arm of run %s: %w", a.Run, err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
