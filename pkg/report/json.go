package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// JSON writes the summary as one indented document.
func JSON(w io.Writer, s eval.Summary) error {
	raw, err := encode(s, "  ")
	if err != nil {
		return fmt.Errorf("report run %s as JSON: %w", s.Run, err)
	}
	_, err = w.Write(raw)
	return err
}

// TrialJSON writes a trial with its result, attempts and trajectory as one
// indented document: what `show --json` prints.
func TrialJSON(w io.Writer, t Trial) error {
	doc := struct {
		eval.Trial
		Verdict    eval.Verdict     `json:"verdict"`
		TraceID    string           `json:"trace_id,omitempty"`
		TraceURL   string           `json:"trace_url,omitempty"`
		Result     *eval.Result     `json:"result"`
		Attempts   int              `json:"attempts"`
		Trajectory *eval.Trajectory `json:"trajectory"`
	}{Trial: t.Trial, Verdict: t.verdict(), Attempts: len(t.Attempts), Trajectory: t.Trajectory}
	if t.Row != nil {
		doc.Result = &t.Row.Result
		doc.TraceID, doc.TraceURL = t.Row.TraceID, t.Row.TraceURL
	}
	raw, err := encode(doc, "  ")
	if err != nil {
		return fmt.Errorf("trial %s #%d as JSON: %w", t.Case.ID, t.Repeat, err)
	}
	_, err = w.Write(raw)
	return err
}

// encode is v as JSON with a new line at its end. Characters that a terminal
// would obey or that hide what is written are escaped, which changes no value;
// bytes that are no UTF-8 become U+FFFD.
func encode(v any, indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	raw := buf.Bytes()
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case r == '\n', !hidden(r):
			out = append(out, raw[:n]...)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
		raw = raw[n:]
	}
	return out, nil
}
