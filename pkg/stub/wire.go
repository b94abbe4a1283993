package stub

import (
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// A wire is one provider's form of requests, answers and errors.
type wire interface {
	// decode reads a request. Its error is told to the client.
	decode(r *http.Request, body []byte) (call, error)
	// answer is the document of a whole answer.
	answer(c call, res llm.Response) any
	// events are those of a streamed answer.
	events(c call, res llm.Response) []event
	// failure is the document of an error.
	failure(f failure) any
	// broken is the event of an error in the middle of a stream.
	broken(f failure) event
	// limits tells where the client stands; resets, which say when a limit is full
	// again, only where they are wanted.
	limits(h http.Header, standings []standing, resets bool)
}

// A call is a request for one answer.
type call struct {
	llm.Request
	model  string
	stream bool
	// usage is wanted at the end of a stream. OpenAI's chat completions alone
	// make it a choice.
	usage bool
	// number and time of the call, for the ids and times of the answer.
	number uint64
	at     time.Time
}

// id of something in the answer, unique in the life of a server.
func (c call) id(prefix string) string { return fmt.Sprintf("%s%08x", prefix, c.number) }

// object is a JSON object.
type object = map[string]any

// An event is one of a stream of server-sent events. The name may be empty.
type event struct {
	name string
	data []byte
}

func newEvent(name string, v any) event { return event{name, eval.Encode(v)} }

// pieces cuts a text into what one event of a stream brings: about four tokens.
func pieces(s string) []string {
	const size = 16
	var out []string
	for len(s) > size {
		n := size
		for n > size-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		out, s = append(out, s[:n]), s[n:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

// isObject says whether the arguments of a call are what they should be.
func isObject(arguments string) bool {
	v, err := eval.Decode([]byte(arguments))
	_, ok := v.(object)
	return err == nil && ok
}
