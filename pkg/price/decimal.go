package price

import (
	"fmt"
	"math/big"
	"regexp"
)

// decimalRE bounds the digits and the exponent: 1e999999999 must cost nothing.
var decimalRE = regexp.MustCompile(`^[0-9]{1,20}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?$`)

// Millionths of a decimal number, exactly, and rounded up where it has more than
// six places: a factor as [Scale] takes it, micro-dollars of dollars, and
// pico-dollars a token of dollars for a million tokens. 0.075 is 75,000. A number
// that is negative, or too large, is an error.
func Millionths(decimal string) (int64, error) {
	if !decimalRE.MatchString(decimal) {
		return 0, fmt.Errorf("%.60q is no decimal number of at least 0", decimal)
	}
	n, _ := new(big.Rat).SetString(decimal)
	n.Mul(n, big.NewRat(1_000_000, 1))
	up := new(big.Int).Sub(n.Denom(), big.NewInt(1))
	up.Add(up, n.Num()).Quo(up, n.Denom())
	if !up.IsInt64() {
		return 0, fmt.Errorf("%.60s is too large", decimal)
	}
	return up.Int64(), nil
}
