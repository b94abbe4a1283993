package client

import (
	"bytes"
	"encoding/json"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// searchLimit bounds the text that is searched for a misprinted message, so that
// a server cannot keep us busy with noise.
const searchLimit = 1 << 20

// gluedTries bounds how many braces of a line are tried as the start of a
// message.
const gluedTries = 16

// hearNoise handles text that is no message. Most of it is debug output, which
// is only a finding. Some of it is an answer in a form that MCP forbids, and then
// nobody needs to wait for a better one.
func (s *Session) hearNoise(f *flight, m wire.Message) {
	if f != nil || s.proc == nil {
		// Over HTTP a body that is no message is judged with its status; an
		// event that is none may be followed by the answer.
		if f != nil && f.exchange.Status < 300 && !s.legacySSE { // where the answer to a POST says nothing
			f.suspicion = "a body or event that is no JSON-RPC message: " + excerpt(string(m.Text))
		}
		return
	}
	s.findLocked("stdout_noise", string(m.Text))
	if len(s.waiting()) == 0 {
		s.block = nil
		return
	}
	switch text := bytes.TrimSpace(m.Text); {
	case len(text) > searchLimit:
	case text[0] == '[' && s.hearBatch(text):
	case s.hearGlued(text):
	default:
		if broken(text) {
			for _, f := range s.waiting() {
				f.suspicion = "a line that looks like a message and is none: " + excerpt(string(text))
			}
		}
		s.hearBlock(m.Text)
	}
}

// broken says whether text looks like an answer that was cut short, or that lacks
// what makes it one. It may also be debug output, so it decides nothing before
// the time is up.
func broken(text []byte) bool {
	if text[0] != '{' {
		return false
	}
	for _, member := range []string{`"jsonrpc"`, `"result"`, `"error"`} {
		if bytes.Contains(text, []byte(member)) {
			return true
		}
	}
	return false
}

// hearBatch handles a JSON array of messages, which no revision since 2025-06-18
// has.
func (s *Session) hearBatch(text []byte) bool {
	var list []eval.JSON
	if json.Unmarshal(text, &list) != nil {
		return false
	}
	for _, raw := range list {
		if s.hearMisprint(raw, "a JSON-RPC batch") {
			return true
		}
	}
	return false
}

// hearGlued handles a message with other text before or behind it on its line.
func (s *Session) hearGlued(text []byte) bool {
	from := 0
	for range gluedTries {
		at := bytes.IndexByte(text[from:], '{')
		if at < 0 {
			return false
		}
		from += at
		var raw eval.JSON
		if json.NewDecoder(bytes.NewReader(text[from:])).Decode(&raw) == nil && s.hearMisprint(raw, "other text on the line of a message") {
			return true
		}
		from++
	}
	return false
}

// hearBlock handles a message printed over several lines, as pretty-printers do:
// they put the outermost brackets alone at the start of a line.
func (s *Session) hearBlock(line []byte) {
	switch {
	case len(line) == 1 && (line[0] == '{' || line[0] == '['):
		s.block = append(s.block[:0], line...)
		return
	case len(s.block) == 0:
		return
	case len(s.block)+len(line) > searchLimit:
		s.block = nil
		return
	}
	s.block = append(append(s.block, '\n'), line...)
	if line[0] != '}' && line[0] != ']' {
		return
	}
	text := bytes.Clone(s.block)
	s.block = nil
	if text[0] == '[' {
		s.hearBatch(text)
	} else {
		s.hearMisprint(text, "a message printed over several lines")
	}
}

// hearMisprint condemns the flight that a misprinted message answers.
func (s *Session) hearMisprint(raw []byte, how string) bool {
	m, ok := wire.Parse(raw)
	if !ok || !m.Answer() {
		return false
	}
	f := s.flights[m.ID]
	if f == nil {
		return false
	}
	f.condemn(how + ": " + excerpt(string(raw)))
	return true
}
