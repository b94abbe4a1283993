package wire

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestKeepRedactsBeforeItCuts(t *testing.T) {
	const secret = "sk-secret-of-the-server"
	redact := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(secret), []byte("[gone]")) }
	tests := []struct {
		name, in, want string
	}{
		{"in a line", "a " + secret + " b\n", "a [gone] b\n"},
		{"without an end of line", "a " + secret, "a [gone]"},
		{"across the pieces of a long line", strings.Repeat("x", pieceBytes-5) + secret + "y", strings.Repeat("x", pieceBytes-5) + "[gone]y"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		for name, r := range map[string]io.Reader{
			"at once": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
		} {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				var out bytes.Buffer
				keep(&out, r, redact)
				if out.String() != tt.want {
					t.Errorf("got %d bytes, want %d with the secret gone; it is there: %t", out.Len(), len(tt.want), strings.Contains(out.String(), secret))
				}
			})
		}
	}
}
