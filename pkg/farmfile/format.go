package farmfile

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// The structs of this file are the format of farm.yaml: [Parse] decodes into them,
// and the schema for editors is made of them and of their comments.

// An evalfarm farm file: how scheduler and workers are run, how fast models may be called, with which keys, at which prices, what may be spent, and who is told.
type farmFile struct {
	strictyaml.At
	// Version of the format: 1.
	Version version `yaml:"version" jsonschema:"enum=1"`
	// The Redis that scheduler and workers share: redis://, rediss:// or unix://. A password is a reference to a secret.
	Redis redisURL `yaml:"redis,omitempty"`
	// The SQLite file with the runs and their results, relative to this file. Default: evalfarm.db in the state folder.
	Store storePath `yaml:"store,omitempty"`
	// The farm that commands use over its API instead of a store: http:// or https://. Scheduler and worker do not look at it.
	ServerURL serverURL `yaml:"server_url,omitempty"`
	// Where the scheduler serves its API, as HOST:PORT. Default 127.0.0.1:8090.
	Listen listenAddress `yaml:"listen,omitempty"`
	// A worker's folder on a local disk, relative to this file, where results stay until they are stored. Default: spool in the state folder.
	Spool word `yaml:"spool,omitempty"`
	// What a worker has that suites may require, such as gpu.
	Capabilities capabilities `yaml:"capabilities,omitempty"`
	// The command that runs servers with an image, by its name or its path. Default: docker or podman from PATH.
	ContainerEngine word `yaml:"container_engine,omitempty"`
	// The scheduler's address as workers see it: http:// or https://.
	Blobs blobsURL `yaml:"blobs,omitempty"`
	// The file with the farm's token, relative to this file. Default: EVALFARM_TOKEN, else a file in the state folder.
	TokenFile word `yaml:"token_file,omitempty"`
	// Trials at once, of a worker or of a run in one process. Default: 4 for each processor.
	Slots suite.Positive `yaml:"slots,omitempty"`
	// Trials judged at once. Default: as many as slots.
	JudgeSlots suite.Positive `yaml:"judge_slots,omitempty"`
	// How long a worker may be silent before its trials are tried again. Default 45s.
	Lease suite.Duration `yaml:"lease,omitempty"`
	// How long running trials may go on after SIGTERM. Default: 30s for a worker, 10s for a run in one process.
	Grace suite.Duration `yaml:"grace,omitempty"`
	// Failures of the farm after which a trial is an error. Default 3.
	Attempts suite.Positive `yaml:"attempts,omitempty"`
	// What is logged, and how.
	Log *logFile `yaml:"log,omitempty"`
	// What is kept, and for how long.
	Retention *retentionFile `yaml:"retention,omitempty"`
	// MCP servers that suites use by their name, as registered: NAME.
	Servers map[string]suite.ServerFile `yaml:"servers,omitempty"`
	// Commands that scorers and verify checks of suites may run that are sent over the API, by a name of your own: a program, as an absolute path or a name on PATH, and all its arguments, as the suite writes them.
	Commands map[string][]word `yaml:"commands,omitempty"`
	// Who may use the API beside those who have the farm's token, by a name of your own. Make one with evalfarm token NAME.
	Tokens map[string]tokenFile `yaml:"tokens,omitempty"`
	// How models are called, by a name of your own.
	Providers map[string]entryFile `yaml:"providers,omitempty"`
	// Bounds of what all runs spend.
	Budgets *budgetsFile `yaml:"budgets,omitempty"`
	// Cost in US dollars from which a run has to be confirmed before it starts.
	ConfirmUSD suite.Dollars `yaml:"confirm_usd,omitempty"`
	// What is told of the farm itself.
	Telemetry *telemetryFile `yaml:"telemetry,omitempty"`
	// Suites that are run again and again, by a name of your own.
	Schedules map[string]scheduleFile `yaml:"schedules,omitempty"`
	// On whose account runs are, by name: what part of the farm each gets.
	Tenants map[string]tenantFile `yaml:"tenants,omitempty"`
	// Who is told of runs that are done, by a name of your own.
	Notifications map[string]targetFile `yaml:"notifications,omitempty"`
}

// How the models of one provider at one address are called.
type entryFile struct {
	strictyaml.At
	// Whose wire format the models speak: anthropic or openai. Default: the name of the entry, if it is one of them.
	Provider wire `yaml:"provider,omitempty"`
	// Address of a compatible server, as suites write it. Default: the provider's own.
	BaseURL string `yaml:"base_url,omitempty"`
	// Keys of models that have none in their suite, as references to secrets.
	APIKeys []string `yaml:"api_keys,omitempty"`
	// How fast each model may be called with one key, unless models says otherwise.
	Rate *suite.RateFile `yaml:"rate,omitempty"`
	// Models by name. A name with * is a family, whose models share one rate.
	Models map[string]entryModelFile `yaml:"models,omitempty"`
}

// How one model, or one family of models, is called.
type entryModelFile struct {
	strictyaml.At
	// How fast it may be called with one key, in the place of the provider's rate.
	Rate *suite.RateFile `yaml:"rate,omitempty"`
	// What it costs where a suite does not say so: free, 0, or a map. Default: what the price list says.
	Price *suite.PriceFile `yaml:"price,omitempty"`
}

// What is logged, and how.
type logFile struct {
	// Least level of what is logged. Default error.
	Level logLevel `yaml:"level,omitempty"`
	// Form of the log: text or json. Default text.
	Format logFormat `yaml:"format,omitempty"`
}

// What is kept, and for how long.
type retentionFile struct {
	// How long done runs are kept, as 30d or 720h. The scheduler deletes older ones once a day, never baselines. Default: all are kept.
	Runs Age `yaml:"runs,omitempty"`
}

// Bounds of what all runs spend.
type budgetsFile struct {
	// US dollars that all runs of a day may spend.
	DayUSD suite.Dollars `yaml:"day_usd,omitempty"`
}

// What is told of the farm itself.
type telemetryFile struct {
	// Show in traces what models, tools and servers say, with secrets taken out. Default false.
	Content bool `yaml:"content,omitempty"`
	// From when on the spans of an attempt are kept though its trace is not sampled, as 30s. Those that fail or are tried again always are. Default: none is kept for being slow.
	Slow suite.Duration `yaml:"slow,omitempty"`
	// Where people see the trace of a trial: http:// or https://, with {trace_id} in the place of its id. Default: trials are shown without links.
	TraceURL traceURL `yaml:"trace_url,omitempty"`
}

// A suite that is run again and again, at the times of a cron expression.
type scheduleFile struct {
	strictyaml.At
	// The suite: a file, or a folder, relative to this file. It is loaded anew each time.
	Suite word `yaml:"suite"`
	// When it is due: minute, hour, day of the month, month and day of the week as in crontab, or @hourly, @daily, @weekly, @monthly, @yearly.
	Cron word `yaml:"cron"`
	// IANA name of the time zone whose clocks count. Default: UTC.
	Timezone word `yaml:"timezone,omitempty"`
	// Bound of how much later it begins, at most 24h: chance, but the same each time it is looked at. Default: none.
	Jitter suite.Duration `yaml:"jitter,omitempty"`
	// What to do while a run of it is not done: skip, queue or cancel that. Default: skip.
	Overlap overlap `yaml:"overlap,omitempty"`
	// What to do about the times that no scheduler was there: skip, one run once for all of them, or all. Default: once.
	CatchUp catchUp `yaml:"catch_up,omitempty"`
	// How many of them catch_up: all makes up for, the latest, at most 10. Default: 10.
	CatchUpLimit suite.Positive `yaml:"catch_up_limit,omitempty"`
	// Time of day, as 06:00, after which it begins no more, and its run begins nothing more. Default: none.
	FinishBy clock `yaml:"finish_by,omitempty"`
	// A file that completes the suite, relative to this file.
	With word `yaml:"with,omitempty"`
	// Variables of the suite.
	Vars map[string]string `yaml:"vars,omitempty"`
	// Only cases whose id matches one of these globs.
	Cases []string `yaml:"cases,omitempty"`
	// Only cases with one of these tags.
	Tags []string `yaml:"tags,omitempty"`
	// Only these values of axes.
	Axes map[string][]string `yaml:"axes,omitempty"`
	// Repeats of every selected case. Default: what the suite says.
	Repeats suite.Positive `yaml:"repeats,omitempty"`
	// What its runs are compared with: main, last-green, a run, or file:// and a path relative to the suite. Default: what the gate says.
	Baseline word `yaml:"baseline,omitempty"`
	// A policy file, relative to this file, whose gate judges its runs instead of the suite's. It is loaded anew each time.
	Gate word `yaml:"gate,omitempty"`
	// What all its runs may spend together.
	Budget *scheduleBudgetFile `yaml:"budget,omitempty"`
	// The tenant on whose account its runs are.
	Tenant word `yaml:"tenant,omitempty"`
	// Weight of its runs against others of the tenant. Default: 1.
	Priority suite.Positive `yaml:"priority,omitempty"`
	// Names of the notifications that are told of its runs. Default: those that want to be told of its suite.
	Notifications []word `yaml:"notifications,omitempty"`
	// Whether it rests.
	Paused bool `yaml:"paused,omitempty"`
}

// What all runs of a schedule may spend together.
type scheduleBudgetFile struct {
	// US dollars, for ever.
	USD suite.Dollars `yaml:"usd"`
}

// A token of the API.
type tokenFile struct {
	strictyaml.At
	// The token's sha256 in hex. The token itself is written nowhere.
	SHA256 tokenHash `yaml:"sha256"`
	// What it lets do: worker (join the farm), read (read runs) or run (also start runs, and cancel, pause, resume and retry them).
	Scope tokenScope `yaml:"scope"`
	// Tenant whose runs are all that it lets see and start. Default: all runs.
	Tenant word `yaml:"tenant,omitempty"`
}

// What part of the farm one tenant gets.
type tenantFile struct {
	strictyaml.At
	// How many trials of the tenant may be out at once. Default: no bound.
	Trials suite.Positive `yaml:"trials,omitempty"`
	// Weight of the tenant against others. Default: 1.
	Weight suite.Positive `yaml:"weight,omitempty"`
}

// wire is a provider that is called over a network.
type wire string

func (wire) Choices() []string {
	return []string{string(eval.ProviderAnthropic), string(eval.ProviderOpenAI)}
}

// version is that of the format.
type version int

const formatVersion version = 1

func (v *version) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	d.Decode(n, (*int)(v))
	switch {
	case *v > formatVersion:
		d.Report(n.Pos, fmt.Sprintf("farm file format %d is newer than this evalfarm, which reads %d", *v, formatVersion), "use a newer evalfarm")
	case *v < formatVersion && n.Kind == strictyaml.Number:
		d.Report(n.Pos, "there is no farm file format "+n.Text, fmt.Sprintf("write version: %d", formatVersion))
	}
}
