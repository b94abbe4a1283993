package farmfile

import (
	"errors"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A Setting is one value that says how a farm is run. What holds is what its flag
// says, else its environment variable, else the file, else its default.
type Setting struct {
	// Name is its key in the file, with dots between levels: log.level. Settings that
	// the file cannot have are named after their variable.
	Name string
	// InFile says that the file can have it.
	InFile bool
	// Flag without its dashes; empty means none.
	Flag string
	// Variable of the environment.
	Variable string
	// Default in words, empty for nothing.
	Default string
	// Meaning in one line.
	Meaning string
	// Services says that only scheduler and worker take it from the environment and
	// the file; to any other command that has the flag it must be said.
	Services bool
	// Path says that it is a path in the file system, which in the file counts from
	// the folder of the file.
	Path bool
	// Secret says that its value is never shown.
	Secret bool

	// form makes what its text is decoded into.
	form func() any
}

// Settings are all there are, in the order in which they are explained.
func Settings() []Setting {
	all := []Setting{
		{Name: "redis", InFile: true, Flag: "redis", Services: true, form: form[redisURL], Meaning: "the Redis that scheduler and workers share, as a URL"},
		{Name: "store", InFile: true, Flag: "store", Path: true, form: form[storePath], Default: "evalfarm.db in the state folder", Meaning: "the SQLite file with the runs and their results, or the URL of a PostgreSQL database: postgres://…"},
		{Name: "server_url", InFile: true, Flag: "server-url", form: form[serverURL], Meaning: "the farm that commands use over its API instead of a store, as a URL"},
		{Name: "listen", InFile: true, Flag: "listen", Services: true, form: form[listenAddress], Default: "127.0.0.1:8090", Meaning: "where the scheduler serves its API"},
		{Name: "blobs", InFile: true, Flag: "blobs", Services: true, form: form[blobsURL], Meaning: "where workers find blobs, as a URL: the scheduler's address as they see it, a shared folder, file:///…, or a bucket, s3://…"},
		{Name: "token_file", InFile: true, Flag: "token-file", Path: true, Services: true, form: form[word], Default: "EVALFARM_TOKEN, else token in the state folder", Meaning: "the file with the farm's token"},
		{Name: "spool", InFile: true, Flag: "spool", Path: true, Services: true, form: form[word], Default: "spool in the state folder", Meaning: "a worker's folder on a local disk, where results stay until they are stored"},
		{Name: "capabilities", InFile: true, Flag: "capability", form: form[capabilities], Meaning: "what a worker, or a run in one process, has that suites may require, such as gpu; with commas between"},
		{Name: "container_engine", InFile: true, Flag: "container-engine", form: form[word], Default: "docker or podman from PATH", Meaning: "the command that runs servers with an image, by its name or its path"},
		{Name: "slots", InFile: true, Flag: "slots", form: form[suite.Positive], Default: "4 for each processor", Meaning: "trials at once, of a worker or of a run in one process"},
		{Name: "judge_slots", InFile: true, Flag: "judge-slots", form: form[suite.Positive], Default: "as many as slots", Meaning: "trials judged at once"},
		{Name: "lease", InFile: true, Flag: "lease", form: form[suite.Duration], Default: "45s", Meaning: "how long a worker may be silent before its trials are tried again"},
		{Name: "grace", InFile: true, Flag: "grace", form: form[suite.Duration], Default: "30s for a worker, 10s for a run in one process", Meaning: "how long running trials may go on after SIGTERM or Ctrl-C"},
		{Name: "attempts", InFile: true, Flag: "attempts", form: form[suite.Positive], Default: "3", Meaning: "failures of the farm after which a trial is an error"},
		{Name: "log.level", InFile: true, Flag: "log-level", form: form[logLevel], Default: "error", Meaning: "least level of what is logged: debug, info, warn or error; --verbose is debug"},
		{Name: "log.format", InFile: true, Flag: "log-format", form: form[logFormat], Default: "text", Meaning: "form of the log: text or json"},
		{Name: "retention.runs", InFile: true, Flag: "keep", form: form[Age], Default: "the scheduler keeps all; gc keeps 30d", Meaning: "how long done runs are kept, as 30d or 720h; baselines stay"},
		{Name: "budgets.day_usd", InFile: true, form: form[suite.Dollars], Default: "no bound", Meaning: "US dollars that all runs of a day may spend"},
		{Name: "confirm_usd", InFile: true, form: form[suite.Dollars], Default: "never", Meaning: "cost in US dollars from which a run is confirmed before it starts"},
		{Name: "telemetry.content", InFile: true, form: form[bool], Default: "false", Meaning: "show in traces what models, tools and servers say, with secrets taken out: true or false"},
		{Name: "telemetry.slow", InFile: true, form: form[suite.Duration], Default: "none is kept for that", Meaning: "from when on the spans of an attempt are kept though its trace is not sampled, as 30s"},
		{Name: "telemetry.trace_url", InFile: true, form: form[traceURL], Default: "no links", Meaning: "where people see the trace of a trial, as a URL with {trace_id} in the place of its id"},
		{Name: "config", Flag: "config", Path: true, form: form[word], Default: "farm.yaml here or in the state folder", Meaning: "the farm file"},
		{Name: "home", Path: true, form: form[word], Default: ".evalfarm beside the nearest .git or go.mod, else the user's state folder", Meaning: "the state folder"},
		{Name: "token", Secret: true, form: form[word], Default: "token in the state folder, made when there is none", Meaning: "the farm's token, which workers show the scheduler"},
	}
	for i := range all {
		all[i].Variable = variablePrefix + strings.ToUpper(strings.ReplaceAll(all[i].Name, ".", "_"))
	}
	return all
}

// form makes a value to decode into.
func form[T any]() any { return new(T) }

// Parse reads the text of a value, as an environment variable has it, into a
// pointer to its type. The error says what is wanted.
func (s Setting) Parse(text string) (any, error) {
	into := s.form()
	n := &strictyaml.Node{Kind: strictyaml.String, Text: text, Loose: true}
	problems := strictyaml.Decode(n, into, strictyaml.Options{})
	switch {
	case len(problems) == 0:
		return into, nil
	case problems[0].Hint != "":
		return nil, errors.New(problems[0].Message + ": " + problems[0].Hint)
	}
	return nil, errors.New(problems[0].Message)
}

// Find finds a setting by its name.
func Find(name string) (Setting, bool) {
	all := Settings()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return all[i], true
}

// variablePrefix begins the name of every variable of ours.
const variablePrefix = "EVALFARM_"

// ownerVariable marks the processes that a farm has started.
const ownerVariable = variablePrefix + "OWNER"

// A Stranger is a variable that looks like one of ours and is none.
type Stranger struct {
	Variable string
	// Meant is the one that was probably meant; it may be empty.
	Meant string
}

// Strangers finds the variables of an environment that begin like ours and mean
// nothing to us. One that is empty says nothing.
func Strangers(environ []string) []Stranger {
	known := []string{ownerVariable}
	for _, s := range Settings() {
		known = append(known, s.Variable)
	}
	var out []Stranger
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, variablePrefix) || slices.Contains(known, name) {
			continue
		}
		out = append(out, Stranger{name, strictyaml.Closest(name, known)})
	}
	return out
}
