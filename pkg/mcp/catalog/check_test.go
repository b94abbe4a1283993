package catalog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// good is a tool that breaks no rule.
const good = `{"name":"echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"m":{"type":"string","description":"What to say."}}}}`

// page is a tools/list result.
func page(tools ...string) []eval.JSON {
	return []eval.JSON{eval.JSON(`{"tools":[` + strings.Join(tools, ",") + `]}`)}
}

// input is a tool whose input schema is given.
func input(schema string) string {
	return `{"name":"t","description":"Does it.","inputSchema":` + schema + `}`
}

// property is a tool with one property.
func property(schema string) string {
	return input(`{"type":"object","properties":{"a":` + schema + `}}`)
}

// broken lists what did not pass, one line each; warnings are marked.
func broken(scores []eval.Score) []string {
	var lines []string
	for _, s := range scores {
		if s.Pass {
			continue
		}
		mark := ""
		if s.Warning {
			mark = "warning "
		}
		lines = append(lines, mark+s.Check+": "+s.Message)
	}
	return lines
}

func TestRules(t *testing.T) {
	for name, tt := range map[string]struct {
		pages []eval.JSON
		want  []string
	}{
		"a good tool":               {pages: page(good)},
		"a tool without parameters": {pages: page(input(`{"type":"object"}`))},
		"two pages":                 {pages: []eval.JSON{eval.JSON(`{"tools":[` + good + `],"nextCursor":"2"}`), eval.JSON(`{"tools":[]}`)}},

		"no page":            {pages: nil, want: []string{"readable_listing: the server lists no tools"}},
		"no tools":           {pages: page(), want: []string{"readable_listing: the server lists no tools"}},
		"a page of text":     {pages: []eval.JSON{eval.JSON(`oops`)}, want: []string{"readable_listing: page 1: it is no JSON: decode JSON: invalid character 'o' looking for beginning of value"}},
		"a page that is cut": {pages: []eval.JSON{eval.JSON(`{"tools":[`)}, want: []string{"readable_listing: page 1: it is no JSON: decode JSON: unexpected EOF"}},
		"a list for a page":  {pages: []eval.JSON{eval.JSON(`[]`)}, want: []string{"readable_listing: page 1: it is an array, not an object"}},
		"Tools for tools":    {pages: []eval.JSON{eval.JSON(`{"Tools":[` + good + `]}`)}, want: []string{"readable_listing: page 1: it has no tools"}},
		"tools of null":      {pages: []eval.JSON{eval.JSON(`{"tools":null}`)}, want: []string{"readable_listing: page 1: tools is null, not an array"}},
		"a bad second page": {
			pages: append(page(good), eval.JSON(`{"tools":{}}`)),
			want:  []string{"readable_listing: page 2: tools is an object, not an array"},
		},

		"a name twice": {
			pages: append(page(good), page(good)...),
			want:  []string{"unique_names: echo: 2 tools have this name, at places 1, 2 of the listing"},
		},
		"a name with a space": {
			pages: page(`{"name":"get it","description":"D.","inputSchema":{"type":"object"}}`),
			want:  []string{`legal_names: get it: "get it" is no legal name: 1 to 64 letters, digits, _, - and .`},
		},
		"a name of 65 letters": {
			pages: page(`{"name":"` + strings.Repeat("n", 65) + `","description":"D.","inputSchema":{"type":"object"}}`),
			want:  []string{fmt.Sprintf("legal_names: %[1]s: %[1]q is no legal name: 1 to 64 letters, digits, _, - and .", strings.Repeat("n", 65))},
		},
		"a name of 64 letters": {pages: page(`{"name":"` + strings.Repeat("n", 64) + `","description":"D.","inputSchema":{"type":"object"}}`)},
		"a name with a newline at its end": {
			pages: page(`{"name":"get\n","description":"D.","inputSchema":{"type":"object"}}`),
			want:  []string{"legal_names: get\n: \"get\\n\" is no legal name: 1 to 64 letters, digits, _, - and ."},
		},
		"no name": {
			pages: page(`{"description":"D.","inputSchema":{"type":"object"}}`),
			want:  []string{"legal_names: tool 1: it has no name"},
		},
		"a number for a name": {
			pages: page(`{"name":7,"description":"D.","inputSchema":{"type":"object"}}`),
			want:  []string{"legal_names: tool 1: its name is a number, not a string"},
		},

		"no description": {
			pages: page(`{"name":"t","inputSchema":{"type":"object"}}`),
			want:  []string{"tool_description: t: it has no description, so a model cannot know when to call it"},
		},
		"a blank description": {
			pages: page(`{"name":"t","description":" \n","inputSchema":{"type":"object"}}`),
			want:  []string{"tool_description: t: its description is blank"},
		},
		"a list for a description": {
			pages: page(`{"name":"t","description":[],"inputSchema":{"type":"object"}}`),
			want:  []string{"tool_description: t: its description is an array, not a string"},
		},

		"a tool that is a string": {pages: page(`"echo"`), want: []string{"object_schema: tool 1: the tool is a string, not an object"}},
		"no schema": {
			pages: page(`{"name":"t","description":"D."}`),
			want:  []string{`object_schema: t: it has no inputSchema; a tool without parameters has {"type": "object"}`},
		},
		"true for a schema": {pages: page(input(`true`)), want: []string{"object_schema: t: its inputSchema is true, not an object"}},
		"null for a schema": {pages: page(input(`null`)), want: []string{"object_schema: t: its inputSchema is null, not an object"}},
		"no type": {
			pages: page(input(`{"properties":{}}`)),
			want:  []string{`object_schema: t: its inputSchema has no type, want "object"`},
		},
		"two types": {
			pages: page(input(`{"type":["object","null"]}`)),
			want:  []string{`object_schema: t: the type of its inputSchema is ["object","null"], want "object"`},
		},
		"an array of properties": {
			pages: page(input(`{"type":"object","properties":[]}`)),
			want: []string{
				"object_schema: t: the properties of its inputSchema are an array, not an object",
				"valid_schema: t: its inputSchema is not valid: compile schema: ",
			},
		},
		"a type that does not exist": {
			pages: page(property(`{"type":"text","description":"D."}`)),
			want: []string{
				"valid_schema: t: its inputSchema is not valid: compile schema: ",
			},
		},
		"a schema nested too deep to compile": {
			pages: page(property(`{"description":"D.","type":"array","items":` + strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100) + `}`)),
			want:  []string{"valid_schema: t: its inputSchema is nested more than 100 deep"},
		},
		"a schema too large to compile": {
			pages: page(property(`{"description":"D.","enum":["` + strings.Repeat("x", 64<<10) + `"]}`)),
			want:  []string{"valid_schema: t: its inputSchema has 65605 bytes, more than 65536"},
		},
		"a listing too large to look at": {
			pages: append(page(good), eval.JSON(strings.Repeat(" ", 4<<20))),
			want:  []string{"readable_listing: the listing has 4194460 bytes, more than 4194304"},
		},
		"a reference to nowhere": {
			pages: page(property(`{"$ref":"#/$defs/x","description":"D."}`)),
			want:  []string{"valid_schema: t: its inputSchema is not valid: compile schema: "},
		},
		"a reference to the network": {
			pages: page(property(`{"$ref":"https://example.com/x.json","description":"D."}`)),
			want:  []string{"valid_schema: t: its inputSchema is not valid: compile schema: "},
		},

		"allOf at the root": {
			pages: page(input(`{"type":"object","allOf":[{"required":["a"]}]}`)),
			want:  []string{"no_root_all_of: t: its inputSchema has allOf at the root, which model APIs refuse; move what it says into properties and required"},
		},
		"anyOf and oneOf at the root": {
			pages: page(input(`{"type":"object","anyOf":[{}],"oneOf":[{}]}`)),
			want:  []string{"warning no_root_any_of: t: its inputSchema has anyOf and oneOf at the root, which some model APIs refuse"},
		},
		"allOf below the root": {pages: page(property(`{"allOf":[{"type":"string"}],"description":"D."}`))},

		"a property without a description": {
			pages: page(property(`{"type":"string"}`)),
			want:  []string{"described_properties: t: property a is not described"},
		},
		"a property that may be anything": {
			pages: page(property(`{"description":"D."}`)),
			want:  []string{"described_properties: t: property a may be anything: its schema says neither type nor values"},
		},
		"a property of true": {
			pages: page(property(`true`)),
			want:  []string{"described_properties: t: property a may be anything: its schema is true"},
		},
		"a property of false": {pages: page(property(`false`))},
		"a property of text": {
			pages: page(property(`"string"`)),
			want: []string{
				"valid_schema: t: its inputSchema is not valid: compile schema: ",
				"described_properties: t: property a has a string for a schema",
			},
		},
		"an enum alone": {pages: page(property(`{"enum":[1,2],"description":"D."}`))},
		"a nested property": {
			pages: page(property(`{"type":"array","description":"D.","items":{"type":"object","properties":{"b":{"type":"string"}}}}`)),
			want:  []string{"described_properties: t: property a[].b is not described"},
		},
		"a property in a branch": {
			pages: page(property(`{"description":"D.","anyOf":[{"type":"null"},{"type":"object","properties":{"b":{}}}]}`)),
			want:  []string{"described_properties: t: property a.b may be anything: its schema says neither type nor values"},
		},
		"described behind a reference": {
			pages: page(input(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"string","description":"D."}}}`)),
		},
		"not described behind a reference": {
			pages: page(input(`{"type":"object","properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"type":"string"}}}`)),
			want:  []string{"described_properties: t: property a is not described"},
		},
		"a schema within itself": {
			pages: page(input(`{"type":"object","properties":{"a":{"$ref":"#","description":"D."},"b":{"type":"string"}}}`)),
			want:  []string{"described_properties: t: property a.b is not described; property b is not described"},
		},
		"many properties": {
			pages: page(input(`{"type":"object","properties":{"a":true,"b":true,"c":true,"d":true,"e":true,"f":true,"g":true}}`)),
			want: []string{"described_properties: t: " + strings.Join([]string{
				"property a may be anything: its schema is true", "property b may be anything: its schema is true",
				"property c may be anything: its schema is true", "property d may be anything: its schema is true",
				"property e may be anything: its schema is true", "and 2 more",
			}, "; ")},
		},

		"an output schema": {pages: page(`{"name":"t","description":"D.","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`)},
		"an output schema of true": {
			pages: page(`{"name":"t","description":"D.","inputSchema":{"type":"object"},"outputSchema":true}`),
			want:  []string{"output_schema_valid: t: its outputSchema is true, not an object"},
		},
		"an output schema with a bad type": {
			pages: page(`{"name":"t","description":"D.","inputSchema":{"type":"object"},"outputSchema":{"type":"record"}}`),
			want:  []string{"output_schema_valid: t: its outputSchema is not valid: compile schema: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, scores := Check(tt.pages, eval.Catalog{})
			got := broken(scores)
			for i := range min(len(got), len(tt.want)) {
				// Messages of the schema compiler are its own affair.
				if strings.HasSuffix(tt.want[i], "compile schema: ") && strings.HasPrefix(got[i], tt.want[i]) {
					got[i] = tt.want[i]
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what is broken (-want +got):\n%s", diff)
			}
		})
	}
}

// The tools of a hostile server: each is its own fault, and the others are still
// checked.
func TestOneBadToolIsItsOwnFault(t *testing.T) {
	tools := []string{
		good,
		`{"name":"rooted","description":"D.","inputSchema":{"type":"object","description":"At the root.","allOf":[{"required":["a"]}],"anyOf":[{}],` +
			`"properties":{"a":{"type":"string","description":"D."}},"patternProperties":{"^x":{}}},"x-vendor":{"k":1}}`,
		`{"name":"array","description":"D.","inputSchema":{"type":["object","null"]}}`,
		`{"name":"missing","description":"D."}`,
		`{"name":"truthy","description":"D.","inputSchema":true}`,
		`{"name":"typeless","description":"D.","inputSchema":{"properties":{"a":{"type":"string","description":"D."}}}}`,
		`null`,
		`{"name":"last","description":"D.","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`,
	}
	listing, scores := Check(page(tools...), eval.Catalog{})
	got := map[string][]string{}
	var held []string
	for _, s := range scores {
		if s.Pass {
			held = append(held, s.Check)
		} else {
			got[s.Check] = append(got[s.Check], s.Target)
		}
	}
	want := map[string][]string{
		"object_schema":        {"array", "missing", "truthy", "typeless", "tool 7"},
		"no_root_all_of":       {"rooted"},
		"no_root_any_of":       {"rooted"},
		"described_properties": {"last"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools by the rule that they break (-want +got):\n%s", diff)
	}
	wantHeld := []string{"readable_listing", "unique_names", "legal_names", "tool_description", "valid_schema", "output_schema_valid"}
	if diff := cmp.Diff(wantHeld, held); diff != "" {
		t.Errorf("rules that hold everywhere (-want +got):\n%s", diff)
	}
	if listing.Tools != len(tools) {
		t.Errorf("tools: got %d, want %d", listing.Tools, len(tools))
	}
}

func TestScores(t *testing.T) {
	_, scores := Check(page(good, input(`true`)), eval.Catalog{Rules: []string{"object_schema", "tool_description"}})
	want := []eval.Score{
		{Check: "tool_description", Title: "Tools say what they do", Value: 1, Pass: true},
		{
			Check: "object_schema", Title: "Inputs are objects", Reason: eval.ReasonCatalogRule, Target: "t",
			Message: "t: its inputSchema is true, not an object",
		},
	}
	if diff := cmp.Diff(want, scores); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

func TestWhichRulesApply(t *testing.T) {
	listing, _ := Check(page(good), eval.Catalog{})
	for name, tt := range map[string]struct {
		spec eval.Catalog
		want map[string]bool // rule to whether it holds
	}{
		"one by name": {eval.Catalog{Rules: []string{"legal_names"}}, map[string]bool{"legal_names": true}},
		"a bound that holds, unnamed": {
			eval.Catalog{Rules: []string{"legal_names"}, MaxContextTokens: listing.ContextTokens},
			map[string]bool{"legal_names": true, "context_tokens": true},
		},
		"a bound that does not hold": {
			eval.Catalog{Rules: []string{"context_tokens"}, MaxContextTokens: listing.ContextTokens - 1},
			map[string]bool{"context_tokens": false},
		},
		"the fingerprint": {
			eval.Catalog{Rules: []string{"fingerprint"}, Fingerprint: listing.Fingerprint},
			map[string]bool{"fingerprint": true},
		},
		"another fingerprint": {
			eval.Catalog{Rules: []string{"fingerprint"}, Fingerprint: "sha256:" + strings.Repeat("0", 64)},
			map[string]bool{"fingerprint": false},
		},
		"named without their bounds": {
			eval.Catalog{Rules: []string{"context_tokens", "fingerprint"}},
			map[string]bool{"context_tokens": false, "fingerprint": false},
		},
		"a rule that does not exist": {eval.Catalog{Rules: []string{"legal_name"}}, map[string]bool{"legal_name": false}},
	} {
		t.Run(name, func(t *testing.T) {
			_, scores := Check(page(good), tt.spec)
			got := map[string]bool{}
			for _, s := range scores {
				got[s.Check] = s.Pass
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

// A page that cannot be read fails even a case that asks for something else.
func TestUnreadablePageFailsAnyCase(t *testing.T) {
	listing, scores := Check([]eval.JSON{eval.JSON(`{}`)}, eval.Catalog{Rules: []string{"legal_names"}})
	if len(scores) != 1 || scores[0].Check != "readable_listing" || scores[0].Pass || listing != (eval.Listing{}) {
		t.Errorf("got scores %v of %+v, want a failed readable_listing alone: nothing else was read", scores, listing)
	}
}

func TestBoundedReport(t *testing.T) {
	tools := make([]string, 1000)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"t%d","description":%q}`, i, strings.Repeat("x", 100))
	}
	_, scores := Check(page(tools...), eval.Catalog{Rules: []string{"object_schema"}})
	if len(scores) != 51 || scores[50].Message != "and 950 more" {
		t.Errorf("got %d scores, the last %q; want 51 and \"and 950 more\"", len(scores), scores[len(scores)-1].Message)
	}
}

func TestContextTokens(t *testing.T) {
	// {"description":"D.","inputSchema":{"type":"object"},"name":"t"} has 63 bytes.
	for name, tt := range map[string]struct {
		tool string
		want int
	}{
		"name, description and schema":           {`{"name":"t","description":"D.","inputSchema":{"type":"object"}}`, (63 + 3) / 4},
		"white space and order do not count":     {`{ "inputSchema": {"type": "object"}, "name": "t",  "description": "D."}`, (63 + 3) / 4},
		"what a model never sees does not count": {`{"name":"t","description":"D.","inputSchema":{"type":"object"},"icons":["xxxxxxxxxxxxxxxx"]}`, (63 + 3) / 4},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := Check(page(tt.tool), eval.Catalog{}); got.ContextTokens != tt.want {
				t.Errorf("got %d tokens, want %d", got.ContextTokens, tt.want)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	a := `{"name":"a","description":"A.","inputSchema":{"type":"object"},"n":9007199254740993}`
	b := `{"name":"b","description":"B.","inputSchema":{"type":"object"}}`
	of := func(pages []eval.JSON) string {
		listing, _ := Check(pages, eval.Catalog{})
		return listing.Fingerprint
	}
	base := of(page(a, b))
	for name, tt := range map[string]struct {
		pages []eval.JSON
		same  bool
	}{
		"other order":         {page(b, a), true},
		"other pages":         {append(page(a), page(b)...), true},
		"other order of keys": {page(`{"n":9007199254740993,"inputSchema":{"type":"object"},"description":"A.","name":"a"}`, b), true},
		"white space":         {page(strings.ReplaceAll(a, ":", " : "), b), true},
		"other number":        {page(strings.ReplaceAll(a, "993", "992"), b), false},
		"other description":   {page(strings.ReplaceAll(a, "A.", "A!"), b), false},
		"one tool less":       {page(a), false},
		"a tool twice":        {page(a, b, b), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := of(tt.pages); (got == base) != tt.same {
				t.Errorf("got %s beside %s, want the same: %t", got, base, tt.same)
			}
		})
	}
	const known = "sha256:5b9853f8"
	if !strings.HasPrefix(base, known) {
		t.Errorf("got %s, want %s…: a change breaks every fingerprint that is on record", base, known)
	}
}

// However the tools of a listing are ordered and cut into pages, it is the same
// listing: same fingerprint, same size, same broken rules.
func TestOrderAndPagesDoNotMatter(t *testing.T) {
	tools := []string{
		good, input(`true`), property(`true`), input(`{"type":"object","allOf":[]}`), `7`, `"x"`,
		`{"name":"z","description":"Z.","inputSchema":{"type":"object"},"outputSchema":{}}`,
	}
	counts := func(scores []eval.Score) map[string]int {
		n := map[string]int{}
		for _, s := range scores {
			if !s.Pass {
				n[s.Check]++
			}
		}
		return n
	}
	wantListing, wantScores := Check(page(tools...), eval.Catalog{})
	rapid.Check(t, func(t *rapid.T) {
		shuffled := slices.Clone(tools)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		cut := rapid.IntRange(0, len(shuffled)).Draw(t, "cut")
		listing, scores := Check(append(page(shuffled[:cut]...), page(shuffled[cut:]...)...), eval.Catalog{})
		if diff := cmp.Diff(wantListing, listing); diff != "" {
			t.Errorf("listing (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(counts(wantScores), counts(scores)); diff != "" {
			t.Errorf("broken rules (-want +got):\n%s", diff)
		}
	})
}

// Whatever a server lists, Check returns scores that can be stored and whose
// size is bounded.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"tools":[` + good + `]}`, `{"tools":[null,true,7,"x",[],{}]}`, `{"tools":{}}`, `[`, ``, `{"tools":[{"name":7,"inputSchema":[]}]}`,
		`{"tools":[` + input(`{"type":"object","properties":{"a":{"$ref":"#/properties/a"},"b":{"$ref":"#/properties"}}}`) + `]}`,
		`{"tools":[` + input(`{"properties":{"a":{"items":{"properties":{"b":{"$ref":"#"}}}}},"additionalProperties":{"$ref":"#/properties/a/items"}}`) + `]}`,
		`{"tools":[{"name":"a\u0000","description":1e999999999,"outputSchema":{"$ref":"#/$defs/~1~0"}}]}`,
		`{"tools":[` + strings.Repeat(`{"inputSchema":{"properties":{"a":`, 40) + `1` + strings.Repeat(`}}}`, 40) + `]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		listing, scores := Check([]eval.JSON{raw}, eval.Catalog{MaxContextTokens: 1, Fingerprint: "sha256:0"})
		unread := listing.Tools == 0
		if len(scores) < len(Rules()) && !unread {
			t.Errorf("got %d scores, want one for each of %d rules at least", len(scores), len(Rules()))
		}
		if unread && (len(scores) == 0 || scores[0].Pass) {
			t.Errorf("got scores %v of no tools, want a failed readable_listing first", scores)
		}
		if len(scores) > len(Rules())*(maxOffences+1) {
			t.Errorf("got %d scores, want a bounded number", len(scores))
		}
		for _, s := range scores {
			if len(s.Message) > 4096 {
				t.Errorf("got a message of %d bytes, want a bounded one", len(s.Message))
			}
		}
		if _, err := json.Marshal(scores); err != nil {
			t.Errorf("scores cannot be stored: %v", err)
		}
		if !strings.HasPrefix(listing.Fingerprint, "sha256:") && !unread {
			t.Errorf("got fingerprint %q, want sha256:…", listing.Fingerprint)
		}
	})
}

// BenchmarkCheck checks a listing as large as those of the biggest servers.
func BenchmarkCheck(b *testing.B) {
	tools := make([]string, 100)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{`+
			`"id":{"type":"string","description":"Which one."},"limit":{"type":"integer","description":"How many."}},"required":["id"]}}`,
			i, strings.Repeat("Says what it does. ", 20))
	}
	pages := page(tools...)
	for b.Loop() {
		Check(pages, eval.Catalog{})
	}
}
