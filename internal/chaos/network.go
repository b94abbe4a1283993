package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// A network is a namespace with a cable to this machine that can lose what goes through.
type network struct {
	name string
	// cable is the name of our end of it; theirs is "cable". here is our address on it,
	// and there is theirs.
	cable, here, there string
}

// lay makes a network. It needs root; why it could not is in refused.
func lay(tb testing.TB) (n *network, refused string) {
	tb.Helper()
	mark := rand.IntN(50 * 250) // others may be here
	prefix := fmt.Sprintf("10.%d.%d.", 200+mark%50, mark/50)
	n = &network{name: fmt.Sprintf("chaos%d", mark), cable: fmt.Sprintf("chaos%d", mark), here: prefix + "1", there: prefix + "2"}
	if err := n.ip("netns", "add", n.name); err != nil {
		return nil, fmt.Sprintf("a network that can be cut needs the right to make namespaces: %v", err)
	}
	tb.Cleanup(func() {
		_ = n.ip("link", "delete", n.cable) // it may have gone with the namespace
		if err := n.ip("netns", "delete", n.name); err != nil {
			tb.Error(err)
		}
	})
	for _, line := range []string{
		"link add " + n.cable + " type veth peer name cable netns " + n.name,
		"addr add " + n.here + "/24 dev " + n.cable,
		"link set " + n.cable + " up",
		"-n " + n.name + " link set lo up",
		"-n " + n.name + " addr add " + n.there + "/24 dev cable",
		"-n " + n.name + " link set cable up",
	} {
		if err := n.ip(strings.Fields(line)...); err != nil {
			return nil, fmt.Sprintf("a network that can be cut needs the right to make one: %v", err)
		}
	}
	return n, ""
}

// inside makes a command one that lives in the network.
func (n *network) inside(cmd *exec.Cmd) *exec.Cmd {
	in := exec.Command("ip", append([]string{"netns", "exec", n.name}, cmd.Args...)...)
	in.Dir, in.Env = cmd.Dir, cmd.Env
	return in
}

// nobody has this Ethernet address.
const nobody = "02:00:00:00:00:01"

// cut loses all packets, both ways and without a word: they go to nobody. mend undoes
// it.
func (n *network) cut() error {
	return errors.Join(
		n.ip("-n", n.name, "neigh", "replace", n.here, "lladdr", nobody, "dev", "cable", "nud", "permanent"),
		n.ip("neigh", "replace", n.there, "lladdr", nobody, "dev", n.cable, "nud", "permanent"),
	)
}

func (n *network) mend() error {
	return errors.Join(
		n.ip("-n", n.name, "neigh", "del", n.here, "dev", "cable"),
		n.ip("neigh", "del", n.there, "dev", n.cable),
	)
}

func (n *network) ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// WorkerCutOff takes the network from the first worker for longer than a lease.
// Nothing is refused, there is just no answer, and no log need say anything of it.
func WorkerCutOff() Fault {
	return Fault{
		Name: "a worker is cut off", Leases: 2.5, lacks: func(f *Farm) string { return f.noNetwork },
		befall: func(ctx context.Context, f *Farm, s Step) error {
			f.cableBusy.Lock()
			defer f.cableBusy.Unlock()
			err := f.network.cut()
			pass(ctx, s.For)
			return errors.Join(err, f.network.mend())
		},
	}
}
