//go:build !unix

package broker

import (
	"context"
	"errors"
)

func openSpawned(context.Context, Options) (*Broker, error) {
	_, err := lookProgram()
	return nil, err
}

func lookProgram() (string, error) {
	return "", errors.New("this system cannot spawn a redis: use the embedded one, or the URL of a running one")
}
