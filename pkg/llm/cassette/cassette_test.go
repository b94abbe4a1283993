package cassette_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/llm/cassette"
	"github.com/evalfarm/evalfarm/pkg/llm/scripted"
	"github.com/evalfarm/evalfarm/pkg/redact"
)

// modelFunc is a model that is a function.
type modelFunc func(req llm.Request) (llm.Response, error)

func (f modelFunc) Generate(_ context.Context, req llm.Request) (llm.Response, error) { return f(req) }

func says(text string) modelFunc {
	return func(llm.Request) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Text: text}, Stop: llm.StopEnd, Tries: 1}, nil
	}
}

func prompt(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Text: text}}, Trial: llm.Trial{Case: "order/get", Repeat: 1}}
}

// files lists the files in a folder, with slashes.
func files(tb testing.TB, dir string) []string {
	tb.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// miss wants an error that says that a call was not recorded.
func miss(tb testing.TB, err error) *llm.Error {
	tb.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.ReplayMiss {
		tb.Fatalf("got error %v, want a replay miss", err)
	}
	return e
}

// converse plays a trial and returns everything that the model answered, and
// the error that ended it.
func converse(tb testing.TB, m llm.Model, trial llm.Trial) ([]llm.Response, error) {
	tb.Helper()
	req := llm.Request{
		System: "Be kind.", Messages: []llm.Message{{Role: llm.User, Text: "Where is it?"}}, Trial: trial,
		Tools: []llm.Tool{{Name: "get", Schema: eval.JSON(`{"type":"object"}`)}},
	}
	var all []llm.Response
	for range 10 {
		got, err := m.Generate(tb.Context(), req)
		if err != nil {
			return all, err
		}
		all = append(all, got)
		if len(got.Message.Calls) == 0 {
			return all, nil
		}
		reply := llm.Message{Role: llm.User}
		for _, c := range got.Message.Calls {
			reply.Results = append(reply.Results, llm.Result{ID: c.ID, Tool: c.Tool, Text: "result of " + c.Arguments})
		}
		req.Messages = append(req.Messages, got.Message, reply)
	}
	tb.Fatal("the conversation has no end")
	return nil, nil
}

func TestReplayIsWhatWasRecorded(t *testing.T) {
	raw := "{no json"
	get := eval.Move{Say: "Let me see.", Calls: []eval.ScriptedCall{{Tool: "get", Arguments: eval.JSON(`{"n":9007199254740993}`)}, {Tool: "get", Raw: &raw}}}
	policy := eval.Policy{
		Cases: map[string][]eval.Move{"fails": {get, {Fail: &eval.ScriptedFailure{Kind: "rate_limit", RetryAfterMS: 1500}}}},
		Default: []eval.Move{get, {Choose: []eval.Choice{
			{Weight: 1, Moves: []eval.Move{{Say: "one"}}}, {Weight: 1, Moves: []eval.Move{{Say: "two", Usage: &eval.Usage{Input: 7}}}},
		}}},
	}
	dir := filepath.Join(t.TempDir(), "new", "folder")
	recorder, player := cassette.Record(scripted.New(policy, scripted.Options{}), dir, nil), cassette.Replay(dir, nil)
	said := map[string]bool{}
	for _, id := range []string{"order/get", "order/put", "fails"} {
		for repeat := range 6 {
			for _, role := range []string{"", "user", "judge/1"} {
				trial := llm.Trial{Case: id, Repeat: repeat + 1, Seed: uint64(repeat), Role: role}
				want, wantErr := converse(t, recorder, trial)
				trial.Seed = 99 // which is nobody's: the seed was not sent
				got, gotErr := converse(t, player, trial)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%+v: answers differ (-want +got):\n%s", trial, diff)
				}
				if diff := cmp.Diff(wantErr, gotErr); diff != "" {
					t.Fatalf("%+v: errors differ (-want +got):\n%s", trial, diff)
				}
				said[got[len(got)-1].Message.Text] = true
			}
		}
	}
	if !said["one"] || !said["two"] {
		t.Errorf("the model said %v, want different answers in different repeats", said)
	}
	if got := len(files(t, dir)); got != 3*6*3*2 {
		t.Errorf("got %d files, want one for each call", got)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	m := modelFunc(func(llm.Request) (llm.Response, error) {
		return llm.Response{
			Message: llm.Message{
				Role: llm.Assistant, Text: "<ok>", Reasoning: "hm", Opaque: eval.JSON(`[ {"b":1,"a":2} ]`),
				Calls: []llm.Call{{ID: "c2", Tool: "put", Arguments: "{"}},
			},
			Stop: llm.StopCalls, Word: "tool_use", Usage: eval.Usage{Input: 3, Output: 4}, Model: "m-1", ID: "msg_1",
			Header: http.Header{
				"Request-Id": {"req_1"}, "Anthropic-Ratelimit-Requests-Remaining": {"5"}, "X-Ratelimit-Limit-Tokens": {"9"}, "Retry-After": {"1"},
				"Set-Cookie": {"session=1"}, "Authorization": {"Bearer x"}, "Date": {"today"},
			},
			Raw: eval.JSON("{\"b\": 1.0,\n \"a\": 2}"), WaitedMS: 12.5, Tries: 3,
		}, nil
	})
	seed := int64(7)
	req := llm.Request{
		System: "s",
		Messages: []llm.Message{
			{Role: llm.User, Text: "p"},
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "c1", Tool: "get", Arguments: "{}"}}, Opaque: eval.JSON(`{"signed":true}`)},
			{Role: llm.User, Results: []llm.Result{{ID: "c1", Tool: "get", Text: "no", Error: true}}},
		},
		Tools:    []llm.Tool{{Name: "get", Description: "Get it.", Schema: eval.JSON(`{"type": "object"}`)}},
		MustCall: "put", Sampling: eval.Sampling{Seed: &seed},
		Trial: llm.Trial{Case: "order/get", Variant: "model=fast", Repeat: 2, Seed: 5, Role: "judge/3"},
	}
	if _, err := cassette.Record(m, dir, nil).Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	// Both the name and the content are a format: people keep such folders.
	const name = "order/get/2-judge-3-d7f9766a5e46de6e.json"
	if diff := cmp.Diff([]string{name}, files(t, dir)); diff != "" {
		t.Fatalf("files differ (-want +got):\n%s", diff)
	}
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/recording.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("file differs (-want +got):\n%s", diff)
	}

	played, err := cassette.Replay(dir, nil).Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	asked, _ := m(req)
	asked.WaitedMS, asked.Tries = 0, 1
	for _, dropped := range []string{"Set-Cookie", "Authorization", "Date"} {
		asked.Header.Del(dropped)
	}
	if diff := cmp.Diff(asked, played); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
}

func TestWhatMakesACallAnother(t *testing.T) {
	seed, warm := int64(1), 0.5
	tests := []struct {
		name   string
		change func(*llm.Request)
		found  bool
	}{
		{"nothing", func(*llm.Request) {}, true},
		{"the seed of the trial", func(r *llm.Request) { r.Trial.Seed = 9 }, true},
		{"the provider's form of a message", func(r *llm.Request) { r.Messages[1].Opaque = eval.JSON(`{}`) }, true},
		{"the order of keys in a schema", func(r *llm.Request) { r.Tools[0].Schema = eval.JSON(` {"b":2,"a":1}`) }, true},
		{"a seed that is sent", func(r *llm.Request) { r.Sampling.Seed = &seed }, false},
		{"the temperature", func(r *llm.Request) { r.Sampling.Temperature = &warm }, false},
		{"the case", func(r *llm.Request) { r.Trial.Case = "order/put" }, false},
		{"the variant", func(r *llm.Request) { r.Trial.Variant = "a=b" }, false},
		{"the repeat", func(r *llm.Request) { r.Trial.Repeat = 2 }, false},
		{"the role", func(r *llm.Request) { r.Trial.Role = "user" }, false},
		{"the system prompt", func(r *llm.Request) { r.System = "x" }, false},
		{"the prompt", func(r *llm.Request) { r.Messages[0].Text += "!" }, false},
		{"a result", func(r *llm.Request) { r.Messages[2].Results[0].Text = "x" }, false},
		{"whether a result is an error", func(r *llm.Request) { r.Messages[2].Results[0].Error = true }, false},
		{"arguments", func(r *llm.Request) { r.Messages[1].Calls[0].Arguments = "{ }" }, false},
		{"a description", func(r *llm.Request) { r.Tools[0].Description = "x" }, false},
		{"a schema", func(r *llm.Request) { r.Tools[0].Schema = eval.JSON(`{"a":1}`) }, false},
		{"one tool more", func(r *llm.Request) { r.Tools = append(r.Tools, llm.Tool{Name: "x"}) }, false},
		{"the tool to call", func(r *llm.Request) { r.MustCall = "get" }, false},
		{"one message less", func(r *llm.Request) { r.Messages = r.Messages[:1] }, false},
	}
	request := func() llm.Request {
		r := prompt("p")
		r.Messages = append(r.Messages,
			llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Tool: "get", Arguments: "{}"}}},
			llm.Message{Role: llm.User, Results: []llm.Result{{ID: "1", Tool: "get", Text: "r"}}})
		r.Tools = []llm.Tool{{Name: "get", Schema: eval.JSON(`{"a":1,"b":2}`)}}
		return r
	}
	dir := t.TempDir()
	if _, err := cassette.Record(says("x"), dir, nil).Generate(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req := request()
			test.change(&req)
			_, err := cassette.Replay(dir, nil).Generate(t.Context(), req)
			switch {
			case test.found && err != nil:
				t.Errorf("got error %v, want the recording", err)
			case !test.found:
				miss(t, err)
			}
		})
	}
}

func TestRepeatsHaveTheirOwnAnswers(t *testing.T) {
	dir := t.TempDir()
	for repeat := 1; repeat <= 2; repeat++ {
		req := prompt("p")
		req.Trial.Repeat = repeat
		if _, err := cassette.Record(says(fmt.Sprint(repeat)), dir, nil).Generate(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	for repeat := 1; repeat <= 2; repeat++ {
		req := prompt("p")
		req.Trial.Repeat = repeat
		got, err := cassette.Replay(dir, nil).Generate(t.Context(), req)
		if err != nil || got.Message.Text != fmt.Sprint(repeat) {
			t.Errorf("repeat %d: got %q (%v)", repeat, got.Message.Text, err)
		}
	}
}

func TestSecretsStayOut(t *testing.T) {
	const secret = "hunter2/\"swordfish"
	remover := redact.New(map[string]string{"TOKEN": secret}).String
	leak := "a " + secret + " b"
	quoted := string(eval.Encode(leak))
	answer := llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: leak, Reasoning: leak, Opaque: eval.JSON(quoted), Calls: []llm.Call{{ID: leak, Tool: leak, Arguments: `{"x":` + quoted + `}`}}},
		Word:    leak, Model: leak, ID: leak, Header: http.Header{"Request-Id": {leak}}, Raw: eval.JSON(quoted),
	}
	failure := &llm.Error{Kind: llm.Auth, Code: leak, Message: leak, WaitFrom: leak, Err: errors.New(leak)}
	request := func(leak string) llm.Request {
		return llm.Request{
			System: leak, MustCall: leak,
			Messages: []llm.Message{
				{Role: llm.User, Text: leak},
				{Role: llm.Assistant, Text: leak, Reasoning: leak, Calls: []llm.Call{{ID: leak, Tool: leak, Arguments: leak}}},
				{Role: llm.User, Results: []llm.Result{{ID: leak, Tool: leak, Text: leak}}},
			},
			Tools: []llm.Tool{{Name: leak, Description: leak, Schema: eval.Encode(leak)}},
			Trial: llm.Trial{Case: leak, Variant: leak, Repeat: 1, Role: leak},
		}
	}
	tests := []struct {
		name  string
		model modelFunc
	}{
		{"answer", func(llm.Request) (llm.Response, error) { return answer, nil }},
		{"error", func(llm.Request) (llm.Response, error) { return llm.Response{}, failure }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			got, err := cassette.Record(test.model, dir, remover).Generate(t.Context(), request(leak))
			if err == nil && got.Message.Text != leak {
				t.Errorf("got %q from the recorder, want what the model said", got.Message.Text)
			}
			for _, name := range files(t, dir) {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(name+string(text), "hunter2") || strings.Contains(name+string(text), "swordfish") {
					t.Errorf("the secret is in %s:\n%s", name, text)
				}
			}
			// Who has the secret finds the call, and so does who has not: there, what
			// the model said holds no secret, and neither does what it is asked.
			for _, player := range []struct {
				m   llm.Model
				req llm.Request
			}{
				{cassette.Replay(dir, remover), request(leak)},
				{cassette.Replay(dir, nil), request(remover(leak))},
			} {
				_, err := player.m.Generate(t.Context(), player.req)
				if e, ok := errors.AsType[*llm.Error](err); ok && e.Kind == llm.ReplayMiss || err != nil && test.name == "answer" {
					t.Errorf("got error %v, want the recording", err)
				}
			}
		})
	}
}

func TestMiss(t *testing.T) {
	long := strings.Repeat("long ", 50)
	dir := t.TempDir()
	recorder := cassette.Record(says("x"), dir, nil)
	for _, text := range []string{"Where is order 17?", long + "a" + long, "\x1b[2Jclear"} {
		if _, err := recorder.Generate(t.Context(), prompt(text)); err != nil {
			t.Fatal(err)
		}
	}
	turn := prompt("Where is order 17?")
	schema := eval.JSON(`{"type":"object","properties":{}}`) // which a file has on several lines
	turn.Tools = []llm.Tool{{Name: "get", Schema: schema}}
	turn.Messages = append(turn.Messages,
		llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Tool: "get", Arguments: "{}"}}},
		llm.Message{Role: llm.User, Results: []llm.Result{{ID: "1", Tool: "get", Text: "here"}}})
	if _, err := recorder.Generate(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		req  func() llm.Request
		want string // a part of the message
	}{
		{"another prompt", func() llm.Request { return prompt("Where is order 18?") }, `differs in message 1: recorded …"er: Where is order 17?", asked …"er: Where is order 18?"`},
		{"in the middle of a long text", func() llm.Request { return prompt(long + "b" + long) }, `recorded …"long long long long along long long long long long"…, asked …"long long long long blong`},
		{"control characters", func() llm.Request { return prompt("\x1b[3Jclear") }, `recorded "user: \x1b[2Jclear", asked "user: \x1b[3Jclear"`},
		{"another result", func() llm.Request {
			r := turn
			r.Messages = append([]llm.Message{}, turn.Messages...)
			r.Messages[2] = llm.Message{Role: llm.User, Results: []llm.Result{{ID: "1", Tool: "get", Text: "gone", Error: true}}}
			return r
		}, `differs in message 3: recorded "user:  result of get: here", asked "user:  error of get: gone"`},
		{"another id of a call", func() llm.Request {
			r := turn
			r.Messages = append([]llm.Message{}, turn.Messages...)
			r.Messages[2] = llm.Message{Role: llm.User, Results: []llm.Result{{ID: "2", Tool: "get", Text: "here"}}}
			return r
		}, `differs in details`},
		{"another tool", func() llm.Request {
			r := turn
			r.Tools = []llm.Tool{{Name: "fetch"}}
			return r
		}, `differs in the list of tools: recorded "get", asked "fetch"`},
		{"another description", func() llm.Request {
			r := turn
			r.Tools = []llm.Tool{{Name: "get", Description: "Gets.", Schema: schema}}
			return r
		}, `differs in tool "get": recorded " {\"properties\":{},\"type\":\"obje"…, asked "Gets. {\"properties\":{},\"type\":"…`},
		{"a turn more", func() llm.Request {
			r := turn
			r.Messages = append(append([]llm.Message{}, turn.Messages...), llm.Message{Role: llm.Assistant, Text: "y"}, llm.Message{Role: llm.User, Text: "z"})
			return r
		}, `differs in message 4, which it has not`},
		{"a system prompt", func() llm.Request { r := turn; r.System = "Be kind."; return r }, `differs in the system prompt: recorded "", asked "Be kind."`},
		{"another repeat", func() llm.Request { r := turn; r.Trial.Repeat = 2; return r }, ""},
		{"another case", func() llm.Request { r := turn; r.Trial.Case = "other"; return r }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req := test.req()
			_, err := cassette.Replay(dir, nil).Generate(t.Context(), req)
			got := miss(t, err).Message
			if file := filepath.Join(dir, filepath.FromSlash(req.Trial.Case), fmt.Sprintf("%d-agent-", req.Trial.Repeat)); !strings.HasPrefix(got, "no recording "+file) {
				t.Errorf("got %q, want the file %s…", got, file)
			}
			if !strings.Contains(got, test.want) || test.want == "" && strings.Contains(got, "nearest") {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestMissWithoutAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nowhere")
	_, err := cassette.Replay(dir, nil).Generate(t.Context(), prompt("p"))
	miss(t, err)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("replaying made the folder: %v", err)
	}
}

func TestBrokenFiles(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(string) string
		want  string
	}{
		{"truncated", func(s string) string { return s[:len(s)/2] }, "unexpected end of JSON input"},
		{"empty", func(string) string { return "" }, "unexpected end of JSON input"},
		{"something else", func(string) string { return "{}" }, "want either a response or an error in it"},
		{"an answer and an error", func(s string) string {
			return strings.Replace(s, `"response":`, `"error": {"kind": "quota"}, "response":`, 1)
		}, "want either a response or an error in it"},
		{"of another call", func(s string) string { return strings.Replace(s, `"key": "`, `"key": "0`, 1) }, "the file has the key of another call"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := cassette.Record(says("x"), dir, nil).Generate(t.Context(), prompt("p")); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, files(t, dir)[0])
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(test.spoil(string(text))), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err = cassette.Replay(dir, nil).Generate(t.Context(), prompt("p"))
			if got := miss(t, err).Error(); !strings.Contains(got, name) || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want the file and %q", got, test.want)
			}
		})
	}
}

func TestErrorsAndAnswersOfOneCall(t *testing.T) {
	overloaded := modelFunc(func(llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.Overloaded, Status: 529, Code: "busy", Wait: time.Second, WaitFrom: "retry-after", Sent: true, Err: io.ErrUnexpectedEOF}
	})
	dir := t.TempDir()
	played := func() string {
		got, err := cassette.Replay(dir, nil).Generate(t.Context(), prompt("p"))
		if err != nil {
			return fmt.Sprintf("%v, %+v", err, *err.(*llm.Error)) //nolint:errorlint,forcetypeassert // the type itself is promised
		}
		return got.Message.Text
	}
	steps := []struct {
		model modelFunc
		want  string
	}{
		{overloaded, "overloaded (HTTP 529 busy): unexpected EOF (come again in 1s), {Kind:overloaded Status:529 Code:busy Message:unexpected EOF Wait:1s WaitFrom:retry-after Sent:true Err:<nil>}"},
		{says("first"), "first"},
		{overloaded, "first"},
		{says("second"), "second"},
	}
	for i, step := range steps {
		if _, err := cassette.Record(step.model, dir, nil).Generate(t.Context(), prompt("p")); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		if got := played(); got != step.want {
			t.Errorf("step %d: got %s, want %s", i+1, got, step.want)
		}
	}
}

func TestWhatIsNotRecorded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other := errors.New("other")
	tests := []struct {
		name string
		ctx  context.Context
		err  error
	}{
		{"cancelled", ctx, context.Canceled},
		{"cut by the cancellation", ctx, &llm.Error{Kind: llm.Network}},
		{"no error of a model", t.Context(), other},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			m := modelFunc(func(llm.Request) (llm.Response, error) { return llm.Response{}, test.err })
			if _, err := cassette.Record(m, dir, nil).Generate(test.ctx, prompt("p")); !errors.Is(err, test.err) {
				t.Errorf("got error %v, want that of the model", err)
			}
			if got := files(t, dir); len(got) > 0 {
				t.Errorf("got files %v, want none", got)
			}
		})
	}
	if _, err := cassette.Replay(t.TempDir(), nil).Generate(ctx, prompt("p")); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v from a cancelled replay, want that of the context", err)
	}
}

func TestRecordingThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := cassette.Record(says("x"), dir, nil).Generate(t.Context(), prompt("p")); err == nil || !strings.Contains(err.Error(), "record a model call") {
		t.Errorf("got error %v, want one that tells of the recording", err)
	}
}

// Nobody's name leads out of the folder.
func TestHostileNames(t *testing.T) {
	for _, id := range []string{"..", "../../x", "/etc/x", "a/../../../x", ".hidden", "", "/", "a//b", "a\x00b", `..\x`, "C:x", "%2e%2e", strings.Repeat("x/", 50) + "y"} {
		t.Run(id, func(t *testing.T) {
			above := t.TempDir()
			dir := filepath.Join(above, "one", "two", "three")
			req := prompt("p")
			req.Trial.Case, req.Trial.Role = id, id
			if _, err := cassette.Record(says("x"), dir, nil).Generate(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			got := files(t, above)
			if len(got) != 1 || !strings.HasPrefix(got[0], "one/two/three/") || strings.Contains(got[0], "/.") {
				t.Errorf("got files %q, want one in one/two/three", got)
			}
			if _, err := cassette.Replay(dir, nil).Generate(t.Context(), req); err != nil {
				t.Errorf("cannot be played back: %v", err)
			}
		})
	}
}

func TestLinksOutOfTheFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "order")); err != nil {
		t.Fatal(err)
	}
	if _, err := cassette.Record(says("x"), dir, nil).Generate(t.Context(), prompt("p")); err == nil {
		t.Error("got no error, want one")
	}
	if got := files(t, outside); len(got) > 0 {
		t.Errorf("got files %v outside of the folder", got)
	}
}

func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	recorder, player := cassette.Record(says("x"), dir, nil), cassette.Replay(dir, nil)
	if _, err := recorder.Generate(t.Context(), prompt("0")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 10 {
				if _, err := recorder.Generate(t.Context(), prompt(fmt.Sprint(n*(i%2)))); err != nil {
					t.Error(err)
				}
				if _, err := player.Generate(t.Context(), prompt("0")); err != nil {
					t.Errorf("read while it is written: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if got := files(t, dir); len(got) != 10 {
		t.Errorf("got %d files, want 10: %v", len(got), got)
	}
}

// A file that somebody edited is an answer or an error, never a panic.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(`{"key":"KEY","response":{"role":"assistant","text":"x","raw":"{","opaque":"x","header":{"A":null}}}`))
	f.Add([]byte(`{"key":"KEY","error":{"kind":"quota"}}`))
	f.Add([]byte(`{"request":{"case":"order/get","repeat":1,"role":"agent","messages":null,"tools":[{"name":"x"}]},"error":{}}`))
	dir := f.TempDir()
	if _, err := cassette.Record(says("x"), dir, nil).Generate(f.Context(), prompt("p")); err != nil {
		f.Fatal(err)
	}
	name := filepath.Join(dir, files(f, dir)[0])
	recorded, err := os.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(recorded)
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"p", "another"} {
			got, err := cassette.Replay(dir, nil).Generate(t.Context(), prompt(text))
			if err == nil {
				eval.Encode(got)
			} else if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Errorf("got error %v, want an llm.Error", err)
			}
		}
	})
}
