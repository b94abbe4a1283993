package export

import (
	"context"
	"time"
)

// Ask hands no spans to the collector that an environment names, to see whether it
// would take some, and returns its address; that is empty if there is none. A variable
// that [Open] would refuse is a [*VariableError].
func Ask(ctx context.Context, env []string) (at string, err error) {
	e := environ(env)
	if off, err := e.disabled(); off || err != nil {
		return "", err
	}
	if _, err := (Options{Environ: env}).resource(ctx); err != nil {
		return "", err
	}
	if _, err := e.metering(); err != nil {
		return "", err
	}
	says, err := e.tracing(false, false)
	if err != nil || !says.pushed {
		return "", err
	}
	p := says.at
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var answer error
	client := p.client(func(err error) {
		if answer = err; err != nil {
			cancel() // asking once is enough
		}
	})
	if err := client.Start(ctx); err != nil {
		return p.String(), err
	}
	defer func() { _ = client.Stop(context.WithoutCancel(ctx)) }() // it has nothing to lose
	if err = client.UploadTraces(ctx, nil); err != nil && answer != nil {
		err = answer
	}
	return p.String(), err
}
