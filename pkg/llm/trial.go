package llm

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Header tells a server whose conversation it is, in X-Evalfarm-Case, -Repeat,
// -Seed and, unless it is the agent, -Role. What is not visible ASCII in the
// case or the role is percent-encoded, and so is the percent sign.
func (t Trial) Header() http.Header {
	h := http.Header{}
	h.Set("X-Evalfarm-Case", visible(t.Case))
	h.Set("X-Evalfarm-Repeat", strconv.Itoa(t.Repeat))
	h.Set("X-Evalfarm-Seed", strconv.FormatUint(t.Seed, 10))
	if t.Role != "" {
		h.Set("X-Evalfarm-Role", visible(t.Role))
	}
	return h
}

// visible percent-encodes what a header cannot carry.
func visible(s string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		if b <= ' ' || b >= 0x7f || b == '%' {
			fmt.Fprintf(&out, "%%%02X", b)
		} else {
			out.WriteByte(b)
		}
	}
	return out.String()
}
