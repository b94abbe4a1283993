package app

import (
	"errors"
	"os"
	"testing"
)

func TestLockNamesItsOwner(t *testing.T) {
	home := t.TempDir()
	unlock, err := lock(home, "r-1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = lock(home, "r-1")
	held, ok := errors.AsType[*LockedError](err)
	if !ok || held.Owner.PID != os.Getpid() {
		t.Errorf("second lock: got %v, want a LockedError that names process %d", err, os.Getpid())
	}
	if owner, locked := Locked(home, "r-1"); !locked || owner.PID != os.Getpid() {
		t.Errorf("Locked: got %+v, %t; want this process", owner, locked)
	}
	other, err := lock(home, "r-2")
	if err != nil {
		t.Errorf("another run cannot be locked: %v", err)
	} else {
		other()
	}
	unlock()
	if _, locked := Locked(home, "r-1"); locked {
		t.Error("the run is locked after unlock")
	}
	again, err := lock(home, "r-1")
	if err != nil {
		t.Fatalf("lock after unlock: %v", err)
	}
	again()
}

func TestTokenIsMadeOnce(t *testing.T) {
	home := t.TempDir()
	first, path, err := Token(home)
	if err != nil || first == "" {
		t.Fatalf("token %q, %v", first, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("token file %v (%v), want mode 0600", info.Mode(), err)
	}
	if second, _, err := Token(home); err != nil || second != first {
		t.Errorf("second token %q (%v), want %q", second, err, first)
	}
}

func TestSecrets(t *testing.T) {
	file := t.TempDir() + "/secret"
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{Environ: []string{"PLAIN=value", "EMPTY=", "FILED_FILE=" + file, "GONE_FILE=/no/such/file"}}
	tests := []struct {
		name, want string
		ok         bool
	}{
		{"PLAIN", "value", true},
		{"EMPTY", "", false},
		{"FILED", "from a file", true},
		{"GONE", "", false},
		{"UNKNOWN", "", false},
	}
	for _, tt := range tests {
		if got, err := c.Secret(tt.name); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("secret %s: got %q, %v; want %q, %t", tt.name, got, err, tt.want, tt.ok)
		}
	}
}
