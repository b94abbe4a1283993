package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// unit reads the settings of a unit, each with all its values.
func unit(t *testing.T, file string) (text string, settings map[string][]string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	settings = map[string][]string{}
	for line := range strings.Lines(string(content)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			settings[key] = append(settings[key], value)
		}
	}
	return string(content), settings
}

func TestUnits(t *testing.T) {
	for file, part := range map[string]string{"evalfarm-scheduler.service": "scheduler", "evalfarm-worker@.service": "worker"} {
		t.Run(part, func(t *testing.T) {
			_, u := unit(t, filepath.Join("systemd", file))
			command := strings.Fields(u["ExecStart"][0])
			env := map[string]string{}
			for _, e := range u["Environment"] {
				name, value, _ := strings.Cut(e, "=")
				env[name] = value
			}
			var files []string
			for _, c := range u["LoadCredential"] {
				name, _, _ := strings.Cut(c, ":")
				files = append(files, "%d/"+name)
			}
			known(t, command[1:], env)
			secretFiles(t, env, files)
			farmFile(t, "systemd/farm.yaml", part, env, files)
			stop, err := time.ParseDuration(u["TimeoutStopSec"][0] + "s")
			if err != nil {
				t.Fatal(err)
			}
			if part == "worker" && stop < grace(t, command)+ending {
				t.Errorf("the worker is killed after %s, and may need %s", stop, grace(t, command)+ending)
			}
			// A worker that is too old ends with 3, and is to be started again.
			for key, want := range map[string]string{
				"KillMode": "mixed", "Restart": "on-failure", "RestartPreventExitStatus": "2", "StartLimitIntervalSec": "0",
				"NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "ProtectSystem": "strict", "ProtectHome": "yes",
			} {
				if !slices.Equal(u[key], []string{want}) {
					t.Errorf("%s is %q, want %q", key, u[key], want)
				}
			}
			if home := env["EVALFARM_HOME"]; home != "/var/lib/"+u["StateDirectory"][0] {
				t.Errorf("the state folder is %s, which is not the unit's", home)
			}
			if u["User"] == nil && u["DynamicUser"] == nil {
				t.Error("it runs as root")
			}
		})
	}
}

// systemd itself reads the units, and grades what they may do.
func TestUnitsAreVerified(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not installed, so nobody here verifies units")
	}
	dir := t.TempDir()
	for file, name := range map[string]string{"evalfarm-scheduler.service": "evalfarm-scheduler.service", "evalfarm-worker@.service": "evalfarm-worker@1.service"} {
		text, _ := unit(t, filepath.Join("systemd", file))
		path := filepath.Join(dir, name)
		// The program has to be there.
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "/usr/local/bin/evalfarm", program)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "verify", path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify %s: %v\n%s", name, err, out)
		}
		// Of 100, where a unit without any of it has 96.
		if out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", path).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze security %s: %v\n%s", name, err, out)
		}
	}
}
