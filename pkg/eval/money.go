package eval

import (
	"fmt"
	"strings"
)

// USD writes micro-dollars as dollars: with cents, and more digits where there
// are any.
func USD(micro int64) string {
	sign := ""
	if micro < 0 {
		sign, micro = "-", -micro
	}
	cents, rest := fmt.Sprintf("%d.%02d", micro/1_000_000, micro%1_000_000/10_000), fmt.Sprintf("%04d", micro%10_000)
	return sign + "$" + cents + strings.TrimRight(rest, "0")
}
