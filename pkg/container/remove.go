package container

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// remove kills and removes a container, if there is one. What cannot be removed
// now is tried once more by Close.
func (e *Engine) remove(ctx context.Context, name string) {
	if err := e.removeAll(ctx, name); err != nil {
		e.log.WarnContext(ctx, "remove container", "name", name, "error", err)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.left = append(e.left, name)
	}
}

// removeAll kills and removes containers with their unnamed volumes.
func (e *Engine) removeAll(ctx context.Context, names ...string) error {
	_, err := e.ask(ctx, e.removeTime(), append([]string{"rm", "--force", "--volumes"}, names...)...)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no such container") {
		return nil
	}
	return err
}

// Close tries once more to remove what could not be removed. What then is left is
// in the log, and found by the next Sweep.
func (e *Engine) Close() {
	e.mu.Lock()
	names := e.left
	e.left = nil
	e.mu.Unlock()
	if len(names) == 0 {
		return
	}
	if err := e.removeAll(context.Background(), names...); err != nil {
		e.log.Warn("containers are left behind", "names", names, "error", err)
	}
}

// Sweep removes the containers of dead owners whose name begins with the prefix,
// and says how many. It looks only at those that were started on this machine since
// it was started, by a process that counts processes as we do: of others nobody can
// tell here whether they live. Without an engine there is nothing to sweep.
func (e *Engine) Sweep(ctx context.Context, prefix string) (int, error) {
	if !e.found() || e.host == "" {
		return 0, nil
	}
	fail := func(err error) (int, error) { return 0, fmt.Errorf("sweep containers of dead owners: %w", err) }
	listed, err := e.ask(ctx, e.askTime(), "ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+hostLabel+"="+e.host)
	if err != nil {
		return fail(err)
	}
	ids := strings.Fields(string(listed))
	if len(ids) == 0 {
		return 0, nil
	}
	// One that has ended meanwhile makes this fail, and the others are told anyway.
	said, err := e.ask(ctx, e.askTime(), append([]string{"container", "inspect"}, ids...)...)
	var found []struct {
		ID     string `json:"Id"`
		Config struct{ Labels map[string]string }
	}
	if unread := json.Unmarshal(said, &found); unread != nil {
		if err == nil {
			err = unread
		}
		return fail(err)
	}
	var orphans []string
	for _, c := range found {
		if wire.Orphaned(c.Config.Labels[ownerLabel], prefix) {
			orphans = append(orphans, c.ID)
		}
	}
	if len(orphans) == 0 {
		return 0, nil
	}
	if err := e.removeAll(ctx, orphans...); err != nil {
		return fail(err)
	}
	return len(orphans), nil
}
