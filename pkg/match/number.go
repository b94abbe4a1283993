package match

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// decimal is a JSON number as ±0.digits × 10^scale, without zeros at either end
// of digits; zero has no digits. Unlike math/big it never writes an exponent out
// in full: 1e999999999 in an answer must cost nothing.
type decimal struct {
	negative bool
	digits   string
	scale    int64
}

func parseDecimal(n json.Number) decimal {
	var d decimal
	text := string(n)
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	leading := len(whole) + len(fraction) - len(digits)
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	if exponent != "" {
		// An exponent beyond int64 saturates; room is left for the addition.
		d.scale, _ = strconv.ParseInt(exponent, 10, 64)
		d.scale = max(min(d.scale, math.MaxInt64/2), math.MinInt64/2)
	}
	d.scale += int64(len(whole) - leading)
	return d
}

// compareNumbers orders two JSON numbers by value, exactly.
func compareNumbers(a, b json.Number) int {
	x, y := parseDecimal(a), parseDecimal(b)
	if x.sign() != y.sign() {
		return cmp.Compare(x.sign(), y.sign())
	}
	return x.sign() * cmp.Or(cmp.Compare(x.scale, y.scale), cmp.Compare(x.digits, y.digits))
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// integral says whether a number has no fraction, however it is written.
func (d decimal) integral() bool { return int64(len(d.digits)) <= d.scale || d.digits == "" }
