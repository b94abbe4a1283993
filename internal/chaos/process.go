package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A process is a command that is kept alive: when it ends by itself, it is started
// again after a second.
type process struct {
	name    string
	command func() *exec.Cmd
	log     string // a file that all its lives write to
	// busy is held by the fault that befalls it.
	busy sync.Mutex

	mu    sync.Mutex // guards what follows
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has
	// wanted is false while it is to be dead.
	wanted bool
	// ends are how it has ended by itself.
	ends []string
}

// start starts it. An error of it is one of this machine.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begin()
}

// begin wants p.mu to be held.
func (p *process) begin() error {
	out, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd, ended := p.command(), make(chan struct{})
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.cmd, p.ended, p.wanted = cmd, ended, true
	go func() {
		_ = cmd.Wait() // its state says it
		close(ended)
		p.mu.Lock()
		if p.cmd != cmd || !p.wanted {
			p.mu.Unlock()
			return
		}
		p.ends = append(p.ends, cmd.ProcessState.String())
		p.mu.Unlock()
		time.Sleep(time.Second)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.cmd == cmd && p.wanted {
			if err := p.begin(); err != nil {
				p.ends = append(p.ends, err.Error())
			}
		}
	}()
	return nil
}

// signal sends a signal, unless it has ended.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Process.Signal(s)
}

// unwant keeps it from being started again, and gives what is closed at its end.
func (p *process) unwant() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = false
	return p.ended
}

// kill kills it. It stays dead until start.
func (p *process) kill() {
	ended := p.unwant()
	p.signal(syscall.SIGKILL)
	<-ended
}

// stop asks it to end, and wants it to end well.
func (p *process) stop() error {
	ended := p.unwant()
	p.signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		p.kill()
		return fmt.Errorf("%s does not end after SIGTERM", p.name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return errors.New(p.name + " ends with " + p.cmd.ProcessState.String() + " after SIGTERM")
	}
	return nil
}

// ownEnds are how it has ended by itself.
func (p *process) ownEnds() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ends
}
