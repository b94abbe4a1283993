package strictyaml

import (
	"math/big"
	"regexp"
	"strings"
)

var (
	plainNumberRE  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	looseDecimalRE = regexp.MustCompile(`^(-?)0*([0-9]*)\.?([0-9]*)([eE][-+]?[0-9]+)?$`)
)

// jsonNumber writes a YAML number as JSON does, with all its digits. Infinity
// and NaN have no JSON form.
func jsonNumber(s string) (string, bool) {
	s = strings.TrimPrefix(s, "+")
	if plainNumberRE.MatchString(s) {
		return s, true
	}
	if strings.ContainsAny(s, "xXoObB") {
		i, ok := new(big.Int).SetString(s, 0)
		if !ok {
			return "", false
		}
		return i.String(), true
	}
	m := looseDecimalRE.FindStringSubmatch(s)
	if m == nil || m[2] == "" && m[3] == "" && !strings.Contains(s, "0") {
		return "", false
	}
	out := m[1]
	if m[2] == "" {
		out += "0"
	}
	out += m[2]
	if m[3] != "" {
		out += "." + m[3]
	}
	return out + m[4], true
}
