package broker

import (
	"fmt"
	"strconv"
	"strings"
)

// An info is what a server's INFO says that matters to us. Its zero value is a
// server that does not say.
type info struct {
	product   string // "redis" or "valkey"
	version   string
	compat    string // the Redis version that it claims to behave like
	policy    string // maxmemory-policy
	maxMemory int64  // in bytes, 0 for no limit
	pid       int

	role         string // "master", or "slave" of one that is
	appendOnly   string // "1" with an append-only file, "0" without
	appendStatus string // "ok" or "err": how the last write to it went
}

func parseInfo(text string) info {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[k] = v
		}
	}
	in := info{
		product: "redis",
		version: fields["redis_version"],
		compat:  fields["redis_version"],
		policy:  fields["maxmemory_policy"],

		role: fields["role"], appendOnly: fields["aof_enabled"], appendStatus: fields["aof_last_write_status"],
	}
	if v := fields["valkey_version"]; v != "" {
		in.product, in.version = "valkey", v
	}
	in.maxMemory, _ = strconv.ParseInt(fields["maxmemory"], 10, 64)
	in.pid, _ = strconv.Atoi(fields["process_id"])
	return in
}

// String names the server and its version.
func (in info) String() string {
	if in.version == "" {
		return "redis"
	}
	return in.product + " " + in.version
}

// check says whether the queue can rely on the server. asynq needs ZRANGE
// BYSCORE of Redis 6.2, whatever its README says; and a server that evicts keys
// when it is full tears holes into the queue that look like lost work.
func (in info) check() (warning string, err error) {
	if in.compat == "" {
		return "it does not tell its version or eviction policy; 6.2 and noeviction are needed", nil
	}
	major, minor, ok := parseVersion(in.compat)
	if !ok {
		return fmt.Sprintf("its version %q cannot be read; 6.2 is needed", in.compat), nil
	}
	if major < 6 || major == 6 && minor < 2 {
		return "", fmt.Errorf("its version is %s, at least 6.2 is needed", in.compat)
	}
	if in.policy == "" || in.policy == "noeviction" {
		return "", nil
	}
	if in.maxMemory > 0 {
		return "", fmt.Errorf("it throws keys away when its %d bytes are full (maxmemory-policy %s): "+
			"set maxmemory-policy to noeviction, or use a redis of its own", in.maxMemory, in.policy)
	}
	return fmt.Sprintf("its maxmemory-policy is %s: harmless while maxmemory is unset, set it to noeviction", in.policy), nil
}

// parseVersion reads the first two numbers of a version.
func parseVersion(v string) (major, minor int, ok bool) {
	first, rest, _ := strings.Cut(v, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, errMajor := strconv.Atoi(first)
	minor, errMinor := strconv.Atoi(second)
	return major, minor, errMajor == nil && errMinor == nil
}
