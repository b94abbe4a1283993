package scheduler

import "fmt"

// A queueError is a failure of the queue: it may be away, and comes back.
type queueError struct {
	doing string
	err   error
}

func (e *queueError) Error() string { return fmt.Sprintf("%s: %v", e.doing, e.err) }

func (e *queueError) Unwrap() error { return e.err }

// away wraps an error of the queue with what we were doing.
func away(doing string, err error) error { return &queueError{doing, err} }

// unqueued is what is left of an error without the failures of the queue; nil if
// nothing is.
func unqueued(err error) error {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case nil:
		return nil
	case *queueError:
		return nil
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if left := unqueued(one); left != nil {
				return left
			}
		}
		return nil
	case interface{ Unwrap() error }:
		if unqueued(e.Unwrap()) == nil {
			return nil
		}
		return err
	default:
		return err
	}
}
