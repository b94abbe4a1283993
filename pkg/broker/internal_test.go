package broker

import (
	"net/url"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name          string
		info          string
		warning, fail string
		show          string
	}{
		{"redis 7", "redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\nmaxmemory:0\r\n", "", "", "redis 7.0.15"},
		{"oldest", "redis_version:6.2.0\r\nmaxmemory_policy:noeviction\r\n", "", "", "redis 6.2.0"},
		{"too old", "redis_version:6.0.16\r\n", "", "at least 6.2", "redis 6.0.16"},
		{"much too old", "redis_version:5.9.0\r\n", "", "at least 6.2", "redis 5.9.0"},
		{"ten", "redis_version:10.0.0\r\n", "", "", "redis 10.0.0"},
		{"valkey", "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.1\r\n", "", "", "valkey 9.0.1"},
		{"evicts", "redis_version:7.0.15\r\nmaxmemory_policy:volatile-lru\r\nmaxmemory:1000\r\n", "", "1000 bytes", "redis 7.0.15"},
		{"would evict", "redis_version:7.0.15\r\nmaxmemory_policy:allkeys-lru\r\nmaxmemory:0\r\n", "allkeys-lru", "", "redis 7.0.15"},
		{"says nothing", "", "does not tell", "", "redis"},
		{"nonsense", "redis_version:seven\r\n", "cannot be read", "", "redis seven"},
	} {
		in := parseInfo(c.info)
		warning, err := in.check()
		if (warning == "") != (c.warning == "") || !strings.Contains(warning, c.warning) {
			t.Errorf("%s: warning: got %q, want %q", c.name, warning, c.warning)
		}
		if (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: error: got %v, want %q", c.name, err, c.fail)
		}
		if got := in.String(); got != c.show {
			t.Errorf("%s: got %q, want %q", c.name, got, c.show)
		}
	}
}

// FuzzParse: no error of a URL tells the password in it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"redis://u:hunter2@h:1/0", "redis://:hunter2@h:x", "unix://:hunter2@/p?db=x", "rediss://u:hunter2#@h",
		"redis://h?password=hunter2&master_name=m&addr=x", "redis://u:hunter2@h?addr=:", "redis://u:%zzhunter2@h", "redis://u/s:hunter2@h", "hunter2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := parse(s)
		if err == nil {
			if a.open == nil {
				t.Errorf("parse(%q): no error and no client", s)
			}
			return
		}
		u, bad := url.Parse(s)
		if bad != nil {
			if strings.Contains(err.Error(), s) && len(s) > 20 {
				t.Errorf("parse(%q) quotes it: %v", s, err)
			}
			return
		}
		// A password of a few letters may be a part of any sentence.
		if pw, ok := u.User.Password(); ok && len(pw) > 8 && strings.Contains(err.Error(), pw) {
			t.Errorf("parse(%q) tells the password: %v", s, err)
		}
	})
}

func FuzzInfo(f *testing.F) {
	f.Add("redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\nmaxmemory:0\r\n")
	f.Add("redis_version:.\nmaxmemory:99999999999999999999")
	f.Fuzz(func(t *testing.T, s string) {
		in := parseInfo(s)
		if warning, err := in.check(); warning != "" && err != nil {
			t.Errorf("check of %q: both a warning and an error", s)
		}
		if in.String() == "" {
			t.Errorf("info %q has no name", s)
		}
	})
}
