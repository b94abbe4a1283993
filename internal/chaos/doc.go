// Package chaos starts a farm of real processes, lets faults befall it from a plan
// that a seed makes, and checks at the end that nobody can tell: a run has the
// fingerprint of an undisturbed one, one result counts for each trial, all that was
// spent is in the ledger, and no process is left.
//
// A [Farm] is schedulers, workers, a Redis, a store and a stub of a model provider
// that keeps the books. Its processes are kept alive as systemd or Kubernetes would
// do it. A [Fault] is one thing that goes wrong and is made good again; a [Step] is
// when, to whom and for how long. The product has no part in it: what cannot be done
// to a process from outside is done by what stands around it, which are a disk of its
// own, a network namespace, a line to Redis that looks at what goes by, and a Go
// distribution whose clock can be moved.
package chaos
