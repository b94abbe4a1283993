package container

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// The labels of a container. The owner is a mark of wire.NewMark; it can be judged
// only on the host that it was made on.
const (
	ownerLabel = "evalfarm.owner"
	hostLabel  = "evalfarm.host"
	forLabel   = "evalfarm.for"
)

// newName names a container: by whom and what it is for, so that people know it
// in a list, and by chance, so that no two have the same.
func newName(whom, server string) string {
	return fmt.Sprintf("evalfarm-%s%s%08x", nameable(whom), nameable(server), rand.Uint32())
}

// maxPart keeps names short enough to be read in a list.
const maxPart = 40

// nameable keeps what a name may hold, which is [a-zA-Z0-9_.-].
func nameable(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
			return r
		}
		return '-'
	}, text)
	if text == "" {
		return ""
	}
	return text[:min(len(text), maxPart)] + "-"
}

// host names what process numbers count in: this machine since it was started,
// and the namespace. It is empty where that cannot be told.
func host() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(boot)) + namespace))
	return hex.EncodeToString(sum[:8])
}
