package similar

import (
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

const orderSchema = `{"type": "object", "properties": {
	"id":       {"type": "integer"},
	"amount":   {"type": "number", "format": "double"},
	"discount": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": null},
	"tax":      {"type": ["number", "null"]},
	"priority": {"enum": ["very high", "very low"]},
	"version":  {"const": "two point one"},
	"when":     {"type": "string", "format": "date-time"},
	"note":     {"type": "string"},
	"either":   {"anyOf": [{"type": "integer"}, {"type": "string"}]},
	"lines":    {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number"}}}}
}}`

func TestArguments(t *testing.T) {
	compareAs := func(name string, c eval.Comparison) map[string]eval.Comparison {
		return map[string]eval.Comparison{name: c}
	}
	schema := Options{Schemas: map[string]eval.JSON{"t": eval.JSON(orderSchema)}}
	tests := map[string]struct {
		want, got string
		o         Options
		grade     float64
		fits      bool
	}{
		"the same":               {want: `{"a": 1, "b": [true, null]}`, got: `{"b": [true, null], "a": 1}`, grade: 1, fits: true},
		"none at all":            {want: `{}`, got: ``, grade: 1, fits: true},
		"null is none":           {want: `{}`, got: `null`, grade: 1, fits: true},
		"tool alone":             {want: ``, got: `{"a": 1}`, grade: 1, fits: true},
		"tool alone, null":       {want: `null`, got: `[1]`, grade: 1, fits: true},
		"one too many":           {want: `{"a": 1}`, got: `{"a": 1, "b": 2}`, grade: 0.5, fits: true},
		"one too few":            {want: `{"a": 1, "b": 2}`, got: `{"a": 1}`, grade: 0.5},
		"no object":              {want: `{"a": 1}`, got: `[{"a": 1}]`},
		"no JSON":                {want: `{"a": 1}`, got: `{"a": `},
		"names are exact":        {want: `{"a": 1}`, got: `{"A": 1}`},
		"integer and float":      {want: `{"a": 1}`, got: `{"a": 1.0}`, grade: 1, fits: true},
		"large integers":         {want: `{"a": 9007199254740993}`, got: `{"a": 9007199254740992}`},
		"minus zero":             {want: `{"a": 0}`, got: `{"a": -0}`, grade: 1, fits: true},
		"floats":                 {want: `{"a": 2.0}`, got: `{"a": 1.5}`, grade: 0.75},
		"floats around zero":     {want: `{"a": -1.5}`, got: `{"a": 1.5}`},
		"beyond float64":         {want: `{"a": 1e999}`, got: `{"a": 2e999}`},
		"below float64":          {want: `{"a": 1e-999}`, got: `{"a": 2e-999}`, grade: 1},
		"numeric text":           {want: `{"a": 17}`, got: `{"a": " 17.0 "}`, grade: 1},
		"numeric text first":     {want: `{"a": "17"}`, got: `{"a": 17}`, grade: 1},
		"text that is no number": {want: `{"a": 17}`, got: `{"a": "17th"}`},
		"number and boolean":     {want: `{"a": 1}`, got: `{"a": true}`},
		"null and absent":        {want: `{"a": null}`, got: `{}`},
		"identifiers":            {want: `{"a": "ORD-1"}`, got: `{"a": "ORD-2"}`},
		"identifier, spaces":     {want: `{"a": "ORD-1"}`, got: `{"a": " ORD-1\n"}`, grade: 1},
		"words":                  {want: `{"a": "broken, blue mug"}`, got: `{"a": "Blue mug"}`, grade: 0.8},
		"repeated words":         {want: `{"a": "no no no"}`, got: `{"a": "no"}`, grade: 0.5},
		"text without words":     {want: `{"a": "- -"}`, got: `{"a": "+ +"}`},
		"arrays, one moved":      {want: `{"a": [1, 2, 3, 4]}`, got: `{"a": [1, 3, 2, 4]}`, grade: 0.75},
		"arrays, one inserted":   {want: `{"a": [1, 2]}`, got: `{"a": [1, 9, 2]}`, grade: 0.8},
		"empty arrays":           {want: `{"a": []}`, got: `{"a": []}`, grade: 1, fits: true},
		"array and object":       {want: `{"a": []}`, got: `{"a": {}}`},
		"nested, one too many":   {want: `{"a": {"b": 1}}`, got: `{"a": {"b": 1, "c": 2}}`, grade: 0.5, fits: true},
		"nested in an array":     {want: `{"a": [{"b": 1}]}`, got: `{"a": [{"b": 1, "c": 2}]}`, grade: 0.5, fits: true},
		"array is no prefix":     {want: `{"a": [1]}`, got: `{"a": [1, 2]}`, grade: 2.0 / 3},

		"matcher":                {want: `{"a": {"$gte": 3}}`, got: `{"a": 4}`, grade: 1, fits: true},
		"matcher that fails":     {want: `{"a": {"$gte": 3}}`, got: `{"a": 2}`},
		"matcher deep inside":    {want: `{"a": {"b": {"$regex": "^x"}}}`, got: `{"a": {"b": "xy", "c": 1}}`, grade: 1, fits: true},
		"matcher, absent":        {want: `{"a": {"$any": true}}`, got: `{}`},
		"wanted absence":         {want: `{"a": {"$not": {"$any": true}}}`, got: `{}`, grade: 1, fits: true},
		"unwanted presence":      {want: `{"a": {"$not": {"$any": true}}}`, got: `{"a": 1}`},
		"matcher nobody knows":   {want: `{"a": {"$nope": 1}}`, got: `{"a": 1}`},
		"name with a dollar":     {want: `{"$filter": {"$regex": "x"}}`, got: `{"$filter": "xyz"}`, grade: 1, fits: true},
		"literal: no matcher":    {want: `{"a": {"$gte": 3}}`, got: `{"a": {"$gte": 3}}`, o: Options{Literal: true}, grade: 1, fits: true},
		"literal: extra":         {want: `{"a": 1}`, got: `{"a": 1, "b": 2}`, o: Options{Literal: true}, grade: 0.5},
		"literal: no arguments":  {want: ``, got: `{"a": 1}`, o: Options{Literal: true}},
		"literal: nested extra":  {want: `{"a": {"b": 1}}`, got: `{"a": {"b": 1, "c": 2}}`, o: Options{Literal: true}, grade: 0.5},
		"literal: extra ignored": {want: `{}`, got: `{"a": 1}`, o: Options{Literal: true, Overrides: compareAs("a", eval.Comparison{How: "ignore"})}, grade: 1, fits: true},

		"schema: integer":            {want: `{"id": 17}`, got: `{"id": "17"}`, o: schema},
		"schema: number":             {want: `{"amount": 20}`, got: `{"amount": 15}`, o: schema, grade: 0.75},
		"schema: number or null":     {want: `{"discount": 20}`, got: `{"discount": 15}`, o: schema, grade: 0.75},
		"schema: types with null":    {want: `{"tax": 20}`, got: `{"tax": 15}`, o: schema, grade: 0.75},
		"schema: enum":               {want: `{"priority": "very high"}`, got: `{"priority": "very low"}`, o: schema},
		"schema: const":              {want: `{"version": "two point one"}`, got: `{"version": "two point two"}`, o: schema},
		"schema: format":             {want: `{"when": "2026-01-01 10:00"}`, got: `{"when": "2026-01-01 11:00"}`, o: schema},
		"schema: text":               {want: `{"note": "blue mug"}`, got: `{"note": "red mug"}`, o: schema, grade: 0.5},
		"schema: several types":      {want: `{"either": "blue mug"}`, got: `{"either": "red mug"}`, o: schema, grade: 0.5},
		"schema: items":              {want: `{"lines": [{"price": 20}]}`, got: `{"lines": [{"price": 15}]}`, o: schema, grade: 0.75},
		"schema: says nothing of it": {want: `{"other": 20}`, got: `{"other": 15}`, o: schema},
		"schema that is none":        {want: `{"a": 20}`, got: `{"a": 15}`, o: Options{Schemas: map[string]eval.JSON{"t": eval.JSON(`{"properties": [`)}}},

		"exact goes before partial": {want: `{"a": {"b": 1}}`, got: `{"a": {"b": 1, "c": 2}}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "exact"})}},
		"exact goes before words":   {want: `{"a": "blue mug"}`, got: `{"a": "mug blue"}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "exact"})}},
		"ignored":                   {want: `{"a": 1, "b": 2}`, got: `{"b": 2}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "ignore"})}, grade: 1, fits: true},
		"all ignored":               {want: `{"a": 1}`, got: `{"a": 2}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "ignore"})}, grade: 1, fits: true},
		"case ignored":              {want: `{"a": "Ord-É"}`, got: `{"a": "oRD-é "}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "ignore_case"})}, grade: 1, fits: true},
		"case ignored, no text":     {want: `{"a": 1}`, got: `{"a": "1"}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "ignore_case"})}},
		"sets":                      {want: `{"a": [1, 2, 2]}`, got: `{"a": [2.0, 1]}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "set"})}, grade: 1, fits: true},
		"sets, one too many":        {want: `{"a": [1, 2]}`, got: `{"a": [2, 3, 1, 4]}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "set"})}, grade: 0.5},
		"empty sets":                {want: `{"a": []}`, got: `{"a": []}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "set"})}, grade: 1, fits: true},
		"no set":                    {want: `{"a": [1]}`, got: `{"a": 1}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "set"})}},
		"regex":                     {want: `{"a": "anything"}`, got: `{"a": "ORD-12"}`, o: Options{Overrides: compareAs("a", eval.Comparison{Regex: `^ORD-\d+$`})}, grade: 1, fits: true},
		"regex that fails":          {want: `{"a": "ORD-1"}`, got: `{"a": "ord-1"}`, o: Options{Overrides: compareAs("a", eval.Comparison{Regex: `^ORD-\d+$`})}},
		"regex, not expected":       {want: `{}`, got: `{"a": "ord-1"}`, o: Options{Overrides: compareAs("a", eval.Comparison{Regex: `^ORD-\d+$`})}},
		"regex, absent":             {want: `{"a": "ORD-1"}`, got: `{}`, o: Options{Overrides: compareAs("a", eval.Comparison{Regex: `.*`})}},
		"regex of no text":          {want: `{"a": 1}`, got: `{"a": {"b": [12]}}`, o: Options{Overrides: compareAs("a", eval.Comparison{Regex: `"b":\[12\]`})}, grade: 1, fits: true},
		"close by a share":          {want: `{"a": 100}`, got: `{"a": 99}`, o: Options{Overrides: compareAs("a", eval.Comparison{Number: &eval.Tolerance{Relative: 0.01}})}, grade: 1, fits: true},
		"too far by a share":        {want: `{"a": 100}`, got: `{"a": 98.9}`, o: Options{Overrides: compareAs("a", eval.Comparison{Number: &eval.Tolerance{Relative: 0.01}})}},
		"close by a distance":       {want: `{"a": 1.10}`, got: `{"a": 1.11}`, o: Options{Overrides: compareAs("a", eval.Comparison{Number: &eval.Tolerance{Absolute: 0.01}})}, grade: 1, fits: true},
		"too far by a distance":     {want: `{"a": 1.10}`, got: `{"a": 1.1101}`, o: Options{Overrides: compareAs("a", eval.Comparison{Number: &eval.Tolerance{Absolute: 0.01}})}},
		"close, numeric text":       {want: `{"a": 25}`, got: `{"a": "25.004"}`, o: Options{Overrides: compareAs("a", eval.Comparison{Number: &eval.Tolerance{Absolute: 0.01}})}, grade: 1, fits: true},
		"close, no number":          {want: `{"a": 25}`, got: `{"a": null}`, o: Options{Overrides: compareAs("a", eval.Comparison{Number: &eval.Tolerance{Absolute: 0.01}})}},
		"infinitely far":            {want: `{"a": 1e999}`, got: `{"a": -1e999}`, o: Options{Overrides: compareAs("a", eval.Comparison{Number: &eval.Tolerance{Relative: 1}})}},
		"the longer name wins": {
			want: `{"a": 1}`, got: `{"a": 2}`, grade: 1, fits: true,
			o: Options{Overrides: map[string]eval.Comparison{"a": {How: "exact"}, "t.a": {How: "ignore"}}},
		},
		"of another tool":                  {want: `{"a": 1}`, got: `{"a": 2}`, o: Options{Overrides: compareAs("u.a", eval.Comparison{How: "ignore"})}},
		"override goes before schema":      {want: `{"id": 17}`, got: `{"id": 18}`, o: Options{Schemas: schema.Schemas, Overrides: compareAs("id", eval.Comparison{Number: &eval.Tolerance{Absolute: 1}})}, grade: 1, fits: true},
		"matcher goes before override":     {want: `{"a": {"$gte": 3}}`, got: `{"a": 4}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "exact"})}, grade: 1, fits: true},
		"ignore goes before matcher":       {want: `{"a": {"$gte": 3}}`, got: `{"a": 2}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "ignore"})}, grade: 1, fits: true},
		"absent, whatever the override is": {want: `{"a": 1}`, got: `{}`, o: Options{Overrides: compareAs("a", eval.Comparison{How: "exact"})}},
	}
	for name, row := range tests {
		t.Run(name, func(t *testing.T) {
			got := compare(t, []Call{{"t", eval.JSON(row.want)}}, []Call{{"t", eval.JSON(row.got)}}, row.o)
			near(t, "grade", got.Ordered.F1, row.grade, 1e-12)
			if got.Exact != row.fits {
				t.Errorf("fits: got %v, want %v", got.Exact, row.fits)
			}
			if same := row.fits && row.grade == 1; same != (len(got.Differences) == 0) {
				t.Errorf("got the differences %v of a pair with grade %v that fits: %v", got.Differences, row.grade, row.fits)
			}
		})
	}
}

func TestBadOverrides(t *testing.T) {
	for name, c := range map[string]eval.Comparison{
		"expression": {Regex: "("},
		"word":       {How: "roughly"},
		"nothing":    {},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Compare(nil, nil, Options{Overrides: map[string]eval.Comparison{"a": c}}); err == nil {
				t.Errorf("compare by %+v: got no error", c)
			}
		})
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range [][3]string{
		{`{"a": 1, "b": "x y"}`, `{"a": 1.5, "b": "y z"}`, orderSchema},
		{`{"a": {"$gte": 1}}`, `{"a": 1e999}`, `{"properties": {"a": {"type": "number"}}}`},
		{`{"a": {"$regex": "("}}`, `{"a": "("}`, `{`},
		{`{"a": [[1, 2], [3]]}`, `{"a": [[2], [1, 3]]}`, `{"properties": {"a": {"items": {"items": {"enum": [1]}}}}}`},
		{`{"a": -0}`, `{"a": "\u0000"}`, `{"properties": {"a": {"type": ["null"]}}}`},
		{`null`, `[`, `null`},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, want, got, schema string) {
		for _, o := range []Options{
			{Schemas: map[string]eval.JSON{"t": eval.JSON(schema)}},
			{Literal: true, Overrides: map[string]eval.Comparison{
				"a": {How: "set"}, "b": {How: "ignore_case"}, "c": {Number: &eval.Tolerance{Relative: 0.1}}, "d": {Regex: "a+"},
			}},
		} {
			c := compare(t, []Call{{"t", eval.JSON(want)}}, []Call{{"t", eval.JSON(got)}}, o)
			for what, x := range map[string]float64{"F1": c.Ordered.F1, "unordered F1": c.Unordered.F1, "positional": c.Positional} {
				if !(x >= 0 && x <= 1) {
					t.Errorf("%s of %s and %s: got %v, want it in [0, 1]", what, want, got, x)
				}
			}
			if c.Ordered != c.Unordered {
				t.Errorf("one call each: got %v in order and %v in any", c.Ordered, c.Unordered)
			}
			for _, d := range c.Differences {
				if line := d.String(); len(line) > 2000 {
					t.Errorf("a line has %d bytes", len(line))
				}
			}
		}
	})
}
