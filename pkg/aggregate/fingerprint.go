package aggregate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Fingerprint is the sha256, in hex, of what a run came to: verdict, scores and
// trajectory hash of every trial. Times, attempts, workers and costs are left
// out, so a run of a deterministic suite has the same fingerprint however often
// its processes were killed, and whatever order its seed puts the trials in. Rates
// follow from verdicts.
//
// each must hand over results by rising ordinal; anything else is an error.
func Fingerprint(snap eval.Snapshot, each func(func(store.Row) error) error) (string, error) {
	type score struct {
		Check   string      `json:"check"`
		Pass    bool        `json:"pass"`
		Warning bool        `json:"warning"`
		Reason  eval.Reason `json:"reason"`
	}
	type trial struct {
		Case       string       `json:"case"`
		Variant    string       `json:"variant"`
		Repeat     int          `json:"repeat"`
		Verdict    eval.Verdict `json:"verdict"`
		Reason     eval.Reason  `json:"reason"`
		Scores     []score      `json:"scores"`
		Trajectory string       `json:"trajectory"`
	}
	var all sum
	order := eval.NewOrder(snap.Plan)
	last := -1
	err := each(func(r store.Row) error {
		if r.Ordinal <= last {
			return fmt.Errorf("ordinal %d came after %d", r.Ordinal, last)
		}
		last = r.Ordinal
		i, repeat, err := order.At(r.Ordinal)
		if err != nil {
			return err
		}
		c := snap.Plan.Cells[i]
		t := trial{
			Case:       snap.Cases[c.Case].ID,
			Variant:    snap.Variants[c.Variant].ID,
			Repeat:     repeat,
			Verdict:    r.Result.Verdict,
			Reason:     r.Result.Reason,
			Trajectory: r.Result.TrajectoryHash,
		}
		for _, s := range r.Result.Scores {
			t.Scores = append(t.Scores, score{s.Check, s.Pass, s.Warning, s.Reason})
		}
		line, err := json.Marshal(t)
		if err != nil {
			return err
		}
		all.add(sha256.Sum256(line))
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("fingerprint of suite %s: %w", snap.Suite, err)
	}
	return hex.EncodeToString(all[:]), nil
}

// A sum adds hashes up modulo 2^256, so that their order makes no difference.
type sum [sha256.Size]byte

func (s *sum) add(h [sha256.Size]byte) {
	carry := 0
	for i := range s {
		carry += int(s[i]) + int(h[i])
		s[i] = byte(carry & 0xff)
		carry >>= 8
	}
}
