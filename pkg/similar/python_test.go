package similar

import (
	"encoding/json"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// What Python 3.11 says of these values.
func TestPythonWrites(t *testing.T) {
	for name, row := range map[string]struct{ raw, str, dumps string }{
		"constants":        {`[null, true, false]`, `[None, True, False]`, `[null, true, false]`},
		"integers":         {`[0, -0, -7, 12345678901234567890]`, `[0, 0, -7, 12345678901234567890]`, `[0, 0, -7, 12345678901234567890]`},
		"floats":           {`[1.0, -0.0, 2.50, 1e3, 0.0001]`, `[1.0, -0.0, 2.5, 1000.0, 0.0001]`, `[1.0, -0.0, 2.5, 1000.0, 0.0001]`},
		"exponents":        {`[1e16, 1e-5, 1e22, 123e-7]`, `[1e+16, 1e-05, 1e+22, 1.23e-05]`, `[1e+16, 1e-05, 1e+22, 1.23e-05]`},
		"out of range":     {`[1e999, -1e999]`, `[inf, -inf]`, `[Infinity, -Infinity]`},
		"nested":           {`{"b": [], "a": {"c": {}}}`, `{'a': {'c': {}}, 'b': []}`, `{"a": {"c": {}}, "b": []}`},
		"quotes":           {`["it's", "\"", "'\"", "\\"]`, `["it's", '"', '\'"', '\\']`, `["it's", "\"", "'\"", "\\"]`},
		"white space":      {`["a\nb\tc\rd"]`, `['a\nb\tc\rd']`, `["a\nb\tc\rd"]`},
		"control":          {`["\u0008\u000c\u001b\u007f\u0085"]`, `['\x08\x0c\x1b\x7f\x85']`, `["\b\f\u001b\u007f\u0085"]`},
		"letters":          {`["é日😀"]`, `['é日😀']`, `["\u00e9\u65e5\ud83d\ude00"]`},
		"separator":        {`["\u2028"]`, `['\u2028']`, `["\u2028"]`},
		"unassigned plane": {`["\udb80\udc00"]`, `['\U000f0000']`, `["\udb80\udc00"]`},
	} {
		t.Run(name, func(t *testing.T) {
			v := value(t, row.raw)
			if got := pythonText(v); got != row.str {
				t.Errorf("str: got %s, want %s", got, row.str)
			}
			if got := pythonJSON(v); got != row.dumps {
				t.Errorf("json.dumps: got %s, want %s", got, row.dumps)
			}
		})
	}
}

func TestPythonEqual(t *testing.T) {
	for name, row := range map[string]struct {
		x, y string
		want bool
	}{
		"integer and float":         {`1`, `1.0`, true},
		"integer and boolean":       {`1`, `true`, true},
		"float and boolean":         {`0.0`, `false`, true},
		"other boolean":             {`2`, `true`, false},
		"number and text":           {`1`, `"1"`, false},
		"null and false":            {`null`, `false`, false},
		"large, as floats equal":    {`9007199254740993`, `9007199254740992`, false},
		"large integer and float":   {`9007199254740993`, `9007199254740992.0`, false},
		"exact integer and float":   {`9007199254740992`, `9007199254740992.0`, true},
		"1e23 is another integer":   {`100000000000000000000000`, `1e23`, false},
		"floats that round alike":   {`0.1`, `0.1000000000000000055511151231257827`, true},
		"infinities":                {`1e999`, `1e1000`, true},
		"infinity and integer":      {`1e999`, `1`, false},
		"fraction and integer":      {`1`, `1.5`, false},
		"nested":                    {`{"a": [1, true]}`, `{"a": [true, 1.0]}`, true},
		"nested, other key":         {`{"a": null}`, `{"b": null}`, false},
		"arrays of unequal lengths": {`[1]`, `[1, 1]`, false},
		"array and object":          {`[]`, `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			x, y := value(t, row.x), value(t, row.y)
			if got := pythonEqual(x, y); got != row.want || pythonEqual(y, x) != got {
				t.Errorf("%s == %s: got %v, want %v in both orders", row.x, row.y, got, row.want)
			}
		})
	}
}

func TestPositional(t *testing.T) {
	for name, row := range map[string]struct {
		want, got string
		score     float64
	}{
		"tool alone":               {``, `{"a": 1}`, 1},
		"no object":                {`{"a": 1}`, `[1]`, 0},
		"no JSON":                  {`{"a": 1}`, `{"a": `, 0},
		"types differ, same words": {`{"a": "true story"}`, `{"a": true}`, 0.3 + 0.7/2},
		"object and text":          {`{"a": {"b": 1}}`, `{"a": "1}"}`, 0.3 + 0.7/2},
		"null":                     {`{"a": 0}`, `{"a": null}`, 0.3},
		"both without words":       {`{"a": " "}`, `{"a": "\t"}`, 1},
		"infinities":               {`{"a": 1e999}`, `{"a": -1e999}`, 0.3},
		"matcher":                  {`{"a": {"$gte": 3}}`, `{"a": 4}`, 1},
		"matcher that fails":       {`{"a": {"$gte": 3}}`, `{"a": 2}`, 0.3},
		"wanted absence":           {`{"a": {"$not": {"$any": true}}, "b": 1}`, `{"b": 1}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := compare(t, []Call{{"t", eval.JSON(row.want)}}, []Call{{"t", eval.JSON(row.got)}}, Options{})
			near(t, "positional", got.Positional, row.score, 1e-12)
		})
	}
}

func TestPositionalOverrides(t *testing.T) {
	set, ignore := eval.Comparison{How: "set"}, eval.Comparison{How: "ignore"}
	close2 := eval.Comparison{Number: &eval.Tolerance{Absolute: 2}}
	order := eval.Comparison{Regex: `^ORD-`}
	for name, row := range map[string]struct {
		want, got string
		a         eval.Comparison // of the argument a
		score     float64
	}{
		"ignored":                  {`{"a": 1, "b": 1}`, `{"a": 2, "b": 1}`, ignore, 1},
		"ignored and not given":    {`{"a": 1, "b": 1}`, `{"b": 1}`, ignore, 1},
		"ignored and not expected": {`{"b": 1}`, `{"a": {"$gte": 1}, "b": 1}`, ignore, 1},
		"ignored beside others":    {`{"a": 1, "b": 1, "c": 1}`, `{"a": 2, "b": 1}`, ignore, 0.3/2 + 0.7},
		"ignored matcher":          {`{"a": {"$gte": 3}}`, `{"a": 2}`, ignore, 1},
		"all ignored":              {`{"a": 1}`, `{"a": 2}`, ignore, 1},
		"exact":                    {`{"a": "blue mug"}`, `{"a": "mug blue"}`, eval.Comparison{How: "exact"}, 0.3},
		"case ignored":             {`{"a": "Blue"}`, `{"a": "blue"}`, eval.Comparison{How: "ignore_case"}, 1},
		"close":                    {`{"a": 1, "b": 1}`, `{"a": 3, "b": 1}`, close2, 1},
		"too far":                  {`{"a": 1, "b": 1}`, `{"a": 4, "b": 1}`, close2, 0.3 + 0.7/2},
		"close and not given":      {`{"a": 1, "b": 1}`, `{"b": 1}`, close2, 0.3/2 + 0.7},
		"sets":                     {`{"a": [1, 2]}`, `{"a": [2, 1, 2]}`, set, 1},
		"sets, one too many":       {`{"a": [1]}`, `{"a": [2, 1]}`, set, 0.3 + 0.7/2},
		"regex":                    {`{"a": "ORD-1"}`, `{"a": "ORD-2"}`, order, 1},
		"regex that fails":         {`{"a": "ORD-1"}`, `{"a": "ord-1"}`, order, 0.3},
		"regex, not expected":      {`{}`, `{"a": "ORD-2"}`, order, 1},
		"matcher goes before":      {`{"a": {"$gte": 3}}`, `{"a": 4}`, eval.Comparison{How: "exact"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, of := range []string{"a", "t.a"} {
				got := compare(t, []Call{{"t", eval.JSON(row.want)}}, []Call{{"t", eval.JSON(row.got)}}, Options{Overrides: map[string]eval.Comparison{of: row.a}})
				near(t, "positional by "+of, got.Positional, row.score, 1e-12)
			}
		})
	}
}

func value(t *testing.T, raw string) any {
	t.Helper()
	v, err := eval.Decode(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
