package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// checkNumbers finds a number whose exponent is out of bounds.
func checkNumbers(value any) error {
	switch v := value.(type) {
	case json.Number:
		i := strings.IndexAny(string(v), "eE")
		if i < 0 {
			return nil
		}
		exponent, err := strconv.Atoi(string(v)[i+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return fmt.Errorf("number %.40s: exponents beyond %d are refused", v, maxExponent)
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, member := range v {
			if err := checkNumbers(member); err != nil {
				return err
			}
		}
	}
	return nil
}
