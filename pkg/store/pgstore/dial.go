package pgstore

import (
	"net"
	"time"
)

// vanished is how long the other end may be silent below what it says: the server's
// machine is gone, or a cable is cut. By itself TCP goes on for a quarter of an hour
// and more. A server that is only slow, or frozen, is not silent there.
const vanished = 20 * time.Second

// dialer makes connections that end when their server has vanished.
func dialer() *net.Dialer {
	return &net.Dialer{
		// While nothing is under way,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: vanished / 4, Interval: vanished / 4, Count: 3},
		// and while something is.
		Control: unanswered,
	}
}
