package cli

import (
	"context"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/store"
)

// withStore opens the store for the length of a function.
func (c *command) withStore(ctx context.Context, fn func(store.Store) error) error {
	conf := c.config()
	if scheme, _, url := strings.Cut(conf.Store, "://"); url && scheme != "postgres" && scheme != "postgresql" {
		return usage("", "the store is the path of a file, or postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	s, err := conf.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return fn(s)
}

// again is what a command that goes on with a run needs beside its arguments. The
// URL may hold a password and is not shown.
func (c *command) again() string {
	switch {
	case c.serverURL != "":
		return "--server-url " + c.serverURL + " "
	case c.storeGiven: // what the environment and farm.yaml say holds the next time too
		return "--store URL "
	}
	return ""
}
