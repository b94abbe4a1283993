package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A KeyError says that a key was used for something else.
type KeyError struct {
	Key string
	// Run that the key is of.
	Run string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("the idempotency key %.64q was used for run %s, which asked for something else", e.Key, e.Run)
}

// maxKey is the number of characters that a key may have.
const maxKey = 200

// CheckKey says what is wrong with a key: it is at most 200 printable characters.
func CheckKey(key string) error {
	if utf8.RuneCountInString(key) > maxKey {
		return refuse("", "an idempotency key has at most %d characters", maxKey)
	}
	if !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return refuse("", "the idempotency key %q has characters that cannot be printed", key)
	}
	return nil
}

// A KeyKeeper stores new runs and finds them by their keys.
type KeyKeeper interface {
	Creator
	RunOfKey(ctx context.Context, tenant, key string) (eval.Run, error)
}

// CreateOnce is Create, but that a request with a Key which was asked for before gives
// the run that was made then. If something else was asked for, that is a [*KeyError].
func CreateOnce(ctx context.Context, s KeyKeeper, req Request) (eval.Run, error) {
	if req.Key == "" {
		return Create(ctx, s, req)
	}
	run, err := askedBefore(ctx, s, req)
	if !errors.Is(err, store.ErrNotFound) {
		return run, err
	}
	run, err = Create(ctx, s, req)
	if errors.Is(err, store.ErrKeyTaken) { // somebody else was faster
		return askedBefore(ctx, s, req)
	}
	return run, err
}

// askedBefore is the run that was made of the same request.
func askedBefore(ctx context.Context, s KeyKeeper, req Request) (eval.Run, error) {
	run, err := s.RunOfKey(ctx, req.Tenant, req.Key)
	if err == nil && run.Asked != req.Asked {
		return eval.Run{}, &KeyError{Key: req.Key, Run: run.ID}
	}
	return run, err
}

// Asked is the sha256 of what a request asks for. seed and baseline are those that
// were asked for, zero and empty for any.
func Asked(req Request, seed uint64, baseline string) string {
	sum := sha256.Sum256(eval.Encode(struct {
		Suite     string
		Selection suite.Selection
		Seed      uint64
		Baseline  string
		Budget    eval.Budget
		Attempts  int
		Priority  int
	}{req.Suite.Hash, req.Selection, seed, baseline, req.Budget, req.Attempts, req.Priority}))
	return hex.EncodeToString(sum[:])
}
