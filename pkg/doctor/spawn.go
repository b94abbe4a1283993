package doctor

import "github.com/evalfarm/evalfarm/pkg/broker"

// spawn looks for the server of --broker spawn.
func (o Options) spawn() []Finding {
	if !o.Spawn {
		return nil
	}
	program, err := broker.Program()
	if err != nil {
		return []Finding{warning("spawn", err.Error(), "only --broker spawn needs one")}
	}
	return []Finding{ok("spawn", program+" for --broker spawn")}
}
