package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// report puts what a case did into the record, with secrets taken out.
func (w *Worker) report(ctx context.Context, at *place, done agent.Done, atts []*client.Attachment, r *eval.Record) {
	r.Outcome = eval.AttemptDone
	if done.Verdict == eval.Error && !done.Reason.Permanent() {
		r.Outcome = eval.AttemptFailed
	}
	tr := done.Trajectory
	var frames []eval.Frame
	for _, att := range atts {
		tr.Findings = append(tr.Findings, att.Findings()...)
		frames = append(frames, att.Frames()...)
		done.Times.ServerStartMS += att.StartMS()
		if done.Verdict != eval.Pass {
			tr.Stderr = cmp.Or(tr.Stderr, att.Session().Stderr())
			tr.Exit = cmp.Or(tr.Exit, att.Session().Exit())
		}
	}
	result := eval.Result{
		Verdict: done.Verdict, Reason: done.Reason, Message: done.Message, Stop: done.Stop,
		Scores: done.Scores, Broken: at.broken, Threshold: at.c.Threshold, Counts: done.Counts, Usage: done.Usage, UserUsage: done.UserUsage,
		Times: done.Times, Tools: done.Tools, Listing: tr.Listing, Findings: tr.Findings, Server: tr.Server,
		TrajectoryHash: tr.Hash(), Stderr: tr.Stderr,
	}
	secrets := at.redactor()
	result.Trajectory = w.keep(ctx, r, secrets.JSON(eval.Encode(tr)))
	if len(frames) > 0 {
		result.Frames = w.keep(ctx, r, secrets.JSON(eval.Encode(frames)))
	}
	w.put(result, at, r)
}

// clean takes out the secrets that a model or a user said: before the trajectory
// is hashed, and before checks show pieces of it. What servers say, their sessions
// have cleaned already.
func (at *place) clean(tr *eval.Trajectory) error {
	raw := eval.Encode(*tr)
	redacted := at.redactor().JSON(raw)
	if bytes.Equal(raw, redacted) {
		return nil
	}
	*tr = eval.Trajectory{}
	if err := json.Unmarshal(redacted, tr); err != nil {
		return fmt.Errorf("redact the trajectory: %w", err)
	}
	return nil
}

// put puts a result into the record. It holds what was heard (expected, actual,
// messages), so secrets are taken out of it too.
func (w *Worker) put(result eval.Result, at *place, r *eval.Record) {
	secrets := at.redactor()
	if secrets == nil {
		r.Result = result
		return
	}
	r.Result = eval.Result{}
	if err := json.Unmarshal(secrets.JSON(eval.Encode(result)), &r.Result); err != nil {
		*r = failed(*r, eval.ReasonFarm, fmt.Sprintf("redact the result: %v", err))
	}
}

// inline is how many compressed bytes of a blob travel in the record itself.
// Larger ones go to the blob store first, to keep the queue's memory small.
const inline = 16 << 10

// keep makes a blob of content and gives its address.
func (w *Worker) keep(ctx context.Context, r *eval.Record, content []byte) string {
	b := blob.Pack(content)
	if len(b.Zstd) > inline {
		err := w.opts.Blobs.PutBlobs(ctx, b)
		if err == nil {
			return b.SHA256
		}
		w.log.WarnContext(ctx, "store a blob; it travels in the record instead", "sha256", b.SHA256, "error", err)
	}
	r.Blobs = append(r.Blobs, b)
	return b.SHA256
}
