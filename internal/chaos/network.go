package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// A network is a namespace with a cable to this machine that can be pulled out.
type network struct {
	name string
	// here is our address on the cable.
	here string
}

// lay makes a network. It needs root; why it could not is in refused.
func lay(tb testing.TB) (n *network, refused string) {
	tb.Helper()
	mark := rand.IntN(50 * 250) // others may be here
	n = &network{name: fmt.Sprintf("chaos%d", mark), here: fmt.Sprintf("10.%d.%d.1", 200+mark%50, mark/50)}
	ours, theirs := fmt.Sprintf("chaos%da", mark), fmt.Sprintf("chaos%db", mark)
	if out, err := exec.Command("ip", "netns", "add", n.name).CombinedOutput(); err != nil {
		return nil, fmt.Sprintf("a network that can be cut needs the right to make namespaces: %v %s", err, out)
	}
	tb.Cleanup(func() {
		_ = exec.Command("ip", "link", "delete", ours).Run() // it may have gone with the namespace
		if out, err := exec.Command("ip", "netns", "delete", n.name).CombinedOutput(); err != nil {
			tb.Errorf("delete the network %s: %v %s", n.name, err, out)
		}
	})
	for _, line := range []string{
		"link add " + ours + " type veth peer name " + theirs + " netns " + n.name,
		"addr add " + n.here + "/24 dev " + ours,
		"link set " + ours + " up",
		"-n " + n.name + " link set lo up",
		"-n " + n.name + " link set " + theirs + " name cable",
		"-n " + n.name + " addr add " + strings.TrimSuffix(n.here, "1") + "2/24 dev cable",
		"-n " + n.name + " link set cable up",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return nil, fmt.Sprintf("a network that can be cut needs the right to make one: ip %s: %v %s", line, err, out)
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

// cable pulls the cable out or puts it in again: up or down. It is their end of it,
// since our address goes with ours.
func (n *network) cable(state string) error {
	if out, err := exec.Command("ip", "-n", n.name, "link", "set", "cable", state).CombinedOutput(); err != nil {
		return fmt.Errorf("set the cable %s: %w %s", state, err, out)
	}
	return nil
}

// WorkerCutOff takes the network from the first worker for longer than a lease.
// Nothing is refused, there is just no answer.
func WorkerCutOff() Fault {
	return Fault{
		Name: "a worker is cut off", Leases: 2.5, felt: []string{"msg=beat"}, lacks: func(f *Farm) string { return f.noNetwork },
		befall: func(ctx context.Context, f *Farm, s Step) error {
			f.cableBusy.Lock()
			defer f.cableBusy.Unlock()
			if err := f.network.cable("down"); err != nil {
				return err
			}
			pass(ctx, s.For)
			return f.network.cable("up")
		},
	}
}
