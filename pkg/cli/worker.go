package cli

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
)

func (c *command) worker() *cobra.Command {
	var f carrying
	var only bool
	var blobs, tokenFile, spool, health string
	cmd := &cobra.Command{
		Use:   "worker --redis URL --blobs URL",
		Short: "Carry out trials for a scheduler",
		Long: `Take trials from a farm's queue and carry them out, until stopped. The first
SIGTERM or Ctrl-C lets running trials finish within --grace and gives back the
rest, the second ends at once.

The worker shows the scheduler the farm's token, from --token-file,
$EVALFARM_TOKEN or the state folder; with --blobs file:// or s3:// it needs none.
The keys of a bucket are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Secrets of suites are read from the
worker's own environment: NAME, or the file named by NAME_FILE.

What it has measured stays in its spool until the scheduler has stored it. The
spool is a folder on a local disk that the workers of a machine may share; a
worker that starts there hands on what a dead one has left.

With --health it answers GET /healthz with 200 while it lives, and GET /readyz
while it takes trials, else with 503, to anybody: for the probes of what runs it.
GET /metrics is for Prometheus.

What no flag says is read from the environment and farm.yaml: evalfarm config
explain.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if env, ok := c.env.Lookup(blobsEnv); blobs == "" && ok {
				blobs = env
			}
			if f.redis == "" || blobs == "" {
				return usage("evalfarm worker --redis redis://127.0.0.1:6379 --blobs http://127.0.0.1:8090", "worker wants --redis and --blobs, the addresses that the scheduler uses and serves, as flags or in farm.yaml")
			}
			conf, err := f.config(c)
			if err != nil {
				return err
			}
			conf.Blobs, conf.OnlyCapable = blobs, only
			if only && len(f.capabilities) == 0 {
				return usage("", "--only wants a --capability")
			}
			var token string
			if app.Shared(blobs) {
				err = checkBlobs(blobs)
			} else {
				token, err = c.token(tokenFile)
			}
			if err != nil {
				return err
			}
			dir := filepath.Join(c.env.Home(), "spool")
			if spool != "" {
				dir = c.env.abs(spool)
			}
			told, err := c.tells(cmd.Context(), "evalfarm-worker", "", health != "")
			if err != nil {
				return err
			}
			defer c.told(cmd.Context(), told)
			telling(&conf, told)
			work := app.WorkerConfig{Config: conf, Token: token, Spool: dir}
			if work.Health, err = healthListener(cmd.Context(), health); err != nil {
				return err
			}
			if work.Health != nil {
				defer work.Health.Close()
			}
			return app.Work(cmd.Context(), work)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.redis, "redis", "", "the Redis that the farm shares, as a `URL`")
	addCapabilities(cmd, &f.capabilities)
	flags.BoolVar(&only, "only", false, "take no trials but those that require a --capability of this worker")
	flags.StringVar(&blobs, "blobs", "", "where blobs are: the scheduler's http `URL`, or the file:// or s3:// one that it was given")
	flags.StringVar(&tokenFile, "token-file", "", "read the farm's token from this `FILE`")
	flags.StringVar(&spool, "spool", "", "keep results in this `DIR` until they are stored (default: spool in the state folder)")
	flags.StringVar(&health, "health", "", "answer /healthz, /readyz and /metrics on this `ADDRESS` (default: nowhere)")
	flags.IntVarP(&f.slots, "slots", "j", 0, "trials at once (default: 4 for each processor)")
	flags.IntVar(&f.judges, "judge-slots", 0, "trials judged at once (default: as many as --slots)")
	flags.DurationVar(&f.grace, "grace", 30*time.Second, "how long running trials may go on after SIGTERM")
	f.addEngine(cmd)
	f.broker = "embedded"
	return cmd
}
