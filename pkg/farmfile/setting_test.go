package farmfile_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// Every scalar of the file, and every list of names, is a setting, and every setting of the file is a key.
func TestSettingsAreTheScalarsOfTheFile(t *testing.T) {
	raw, err := farmfile.Schema()
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Ref        string          `json:"$ref"`
		Type       string          `json:"type"`
		Properties map[string]node `json:"properties"`
	}
	var root struct {
		node
		Definitions map[string]node `json:"definitions"`
	}
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	var keys []string
	var walk func(prefix string, of node)
	walk = func(prefix string, of node) {
		for key, inner := range of.Properties {
			switch {
			case prefix+key == "version" || inner.Type == "object": // a map with names of the operator's
			case inner.Ref != "" && root.Definitions[strings.TrimPrefix(inner.Ref, "#/definitions/")].Type == "object":
				walk(prefix+key+".", root.Definitions[strings.TrimPrefix(inner.Ref, "#/definitions/")])
			default:
				keys = append(keys, prefix+key)
			}
		}
	}
	walk("", root.node)
	var names []string
	for _, s := range farmfile.Settings() {
		if s.InFile {
			names = append(names, s.Name)
		}
		if s.Meaning == "" {
			t.Errorf("%s has no meaning", s.Name)
		}
	}
	slices.Sort(keys)
	slices.Sort(names)
	if diff := cmp.Diff(keys, names); diff != "" {
		t.Errorf("settings are not the scalars of the file (-file +settings):\n%s", diff)
	}
}

func TestParseASetting(t *testing.T) {
	for name, test := range map[string]struct {
		setting, text string
		want          any
		refused       string
	}{
		"one bad name":         {setting: "capabilities", text: "gpu,", refused: `"" is no capability`},
		"a number":             {setting: "slots", text: "16", want: new(suite.Positive(16))},
		"zero":                 {setting: "slots", text: "0", refused: `want a whole number from 1, got "0"`},
		"no number":            {setting: "attempts", text: "three", refused: `want a whole number from 1, got "three"`},
		"a duration":           {setting: "lease", text: "1m30s", want: new(suite.Duration(90 * time.Second))},
		"without a unit":       {setting: "grace", text: "30", refused: `want a duration such as 90s, 2m or 1h30m, got "30"`},
		"days":                 {setting: "retention.runs", text: "30d", want: new(farmfile.Age(30 * 24 * time.Hour))},
		"hours":                {setting: "retention.runs", text: "720h", want: new(farmfile.Age(30 * 24 * time.Hour))},
		"more than can be":     {setting: "retention.runs", text: "99999999999999999999d", refused: "want a time such as 30d or 720h"},
		"dollars":              {setting: "budgets.day_usd", text: "1.5", want: new(suite.Dollars(1_500_000))},
		"a level":              {setting: "log.level", text: "wran", refused: `did you mean "warn"?`},
		"a password is hidden": {setting: "redis", text: "queue://:never-shown@h", refused: `unknown scheme "queue"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, ok := farmfile.Find(test.setting)
			if !ok {
				t.Fatalf("there is no setting %s", test.setting)
			}
			got, err := s.Parse(test.text)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) || strings.Contains(err.Error(), "never-shown") {
					t.Fatalf("got %v, want %q", err, test.refused)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("got error %v and (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestStrangers(t *testing.T) {
	got := farmfile.Strangers([]string{
		"PATH=/bin", "EVALFARM_REDIS=redis://h", "EVALFARM_REDSI=redis://h", "EVALFARM_LOG_LEVEL=info", "EVALFARM_LOGLEVEL=info",
		"EVALFARM_HOME=/h", "EVALFARM_TOKEN=t", "EVALFARM_CONFIG=f", "EVALFARM_OWNER=farm/worker", "EVALFARM_WHATEVER=1", "EVALFARM_EMPTY=",
	})
	want := []farmfile.Stranger{{"EVALFARM_REDSI", "EVALFARM_REDIS"}, {"EVALFARM_LOGLEVEL", "EVALFARM_LOG_LEVEL"}, {"EVALFARM_WHATEVER", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("strangers differ (-want +got):\n%s", diff)
	}
}

func TestMask(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing to hide":       {"redis://queue:6379/1", "redis://queue:6379/1"},
		"a user alone":          {"redis://farm@queue:6379", "redis://farm@queue:6379"},
		"a password":            {"redis://farm:never-shown@queue:6379", "redis://farm:***@queue:6379"},
		"without a user":        {"rediss://:never-shown@queue", "rediss://:***@queue"},
		"not encoded":           {"redis://:never@sho/wn?@queue", "redis://:***@queue"},
		"a reference":           {"redis://:${{ secrets.P }}@queue", "redis://:***@queue"},
		"in a parameter":        {"postgres://db/x?sslmode=off&password=never-shown&a=b", "postgres://db/x?sslmode=off&password=***&a=b"},
		"another's password":    {"unix:///s.sock?sslPassword=never-shown", "unix:///s.sock?sslPassword=***"},
		"inside a line":         {`redis: "redis://u:never-shown@h" # queue`, `redis: "redis://u:***@h" # queue`},
		"rather more than less": {"http://scheduler:8090/a@b", "http://scheduler:***@b"},
		"two hosts in a line":   {"redis://h:1 redis://u:never-shown@h", "redis://h:***@h"},
		"a user with a slash":   {"redis://u/s:never-shown@h", "redis://u/s:***@h"},
		"text without any URL":  {"a:b@c", "a:b@c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := farmfile.Mask(test.text); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Whatever a password holds, it is not in what is shown of a URL.
func TestMaskAnyPassword(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user := rapid.StringMatching(`[^:@]{0,10}`).Draw(t, "user")
		password := rapid.String().Draw(t, "password")
		got := farmfile.Mask("redis://" + user + ":" + password + "@queue:6379")
		if want := "redis://" + user + ":***@queue:6379"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
