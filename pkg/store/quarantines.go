package store

import (
	"context"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Quarantines is the table of flaky cases that are out of the gate for a while. A
// run freezes those of its suite when it is created.
type Quarantines interface {
	// SetQuarantine puts a case of a suite, or one variant of it, under quarantine. One
	// of the same case and variant is replaced.
	SetQuarantine(ctx context.Context, q eval.Quarantine) error
	// DropQuarantine ends that of a case and variant, or is ErrNotFound.
	DropQuarantine(ctx context.Context, suite, id, variant string) error
	// Quarantines returns those of a suite, expired ones too, by case and variant; for
	// "" those of all suites.
	Quarantines(ctx context.Context, suite string) ([]eval.Quarantine, error)
}
