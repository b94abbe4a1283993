package container

import (
	"maps"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// Reserved says whether the engine's command reads an environment variable
// itself. Such a variable cannot be given to a server: its value reaches the
// engine in the environment of that command, because an argument vector is there
// for all users of the machine to read, and there it would change what the
// command does.
func Reserved(name string) bool {
	return engines(name) || proxy(name) || name == wire.OwnerVariable || name == "PODMAN_USERNS" ||
		strings.HasPrefix(name, "LD_") || name == "GODEBUG" || name == "SSL_CERT_FILE" || name == "SSL_CERT_DIR"
}

// engines says whether a variable of the worker is the engine's: where its
// daemon, its settings, its credentials and its files are.
func engines(name string) bool {
	switch name {
	case "PATH", "HOME", "TMPDIR", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "REGISTRY_AUTH_FILE":
		return true
	}
	for _, prefix := range []string{"DOCKER_", "CONTAINER_", "CONTAINERS_", "STORAGE_", "XDG_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// proxy says whether a variable names a proxy. A server does not get the
// worker's, which may hold a password: podman would pass it on from its own
// environment. Only images are fetched by it.
func proxy(name string) bool {
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY":
		return true
	}
	return false
}

// environ is the environment of the engine's command: what of the worker's fits,
// and what is given to the server.
func (e *Engine) environ(fits func(name string) bool, given map[string]string) []string {
	env := map[string]string{}
	for _, entry := range e.o.Environ {
		if name, value, ok := strings.Cut(entry, "="); ok && fits(name) {
			env[name] = value
		}
	}
	maps.Copy(env, given)
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}
