package suite

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// sources of the structs that the schema is made of: their comments are its
// descriptions.
//
//go:embed file.go forms.go gateforms.go agentfile.go checkfile.go checkforms.go ratefile.go pricefile.go
var formatSources embed.FS

// Schema is the JSON Schema (draft 7, which editors know) of suite files. It is
// made of the structs that [Load] decodes into, and refuses what decoding
// refuses; what needs the whole suite, such as unknown names, only Load finds.
func Schema() ([]byte, error) {
	return schemaOf(suiteFile{}, "evalfarm suite", nil, func(s *jsonschema.Schema) {
		exactlyOne(s.Definitions["case"], "prompt", "call", "read", "steps", "catalog")
		exactlyOne(s.Definitions["step"], "call", "read")
		s.Definitions["server"].Not = registeredAndMore()
		exactlyOne(s.Definitions["check"], checkKinds()...)
		turned := jsonschema.NewProperties()
		turned.Set("not", &jsonschema.Schema{Type: "object", Description: "A check, turned around."})
		s.Definitions["check"].OneOf = append(s.Definitions["check"].OneOf, &jsonschema.Schema{Required: []string{"not"}, Properties: turned})
		s.Definitions["trajectory"].Not = together("calls", "baseline")
		exactlyOne(s.Definitions["verify"], "call", "read", "command")
		s.Definitions["model"].Not = together("api_key", "api_keys")
	})
}

// SchemaOf is the JSON Schema of another format, which is made of forms of this
// package too. Root is the struct of a whole file, and sources hold the Go files
// whose comments describe it.
func SchemaOf(root any, title string, sources fs.FS) ([]byte, error) {
	return schemaOf(root, title, sources, func(*jsonschema.Schema) {})
}

func schemaOf(root any, title string, sources fs.FS, refine func(*jsonschema.Schema)) ([]byte, error) {
	comments := map[string]string{}
	for _, from := range []fs.FS{formatSources, sources} {
		if from == nil {
			continue
		}
		if err := readComments(from, comments); err != nil {
			return nil, fmt.Errorf("make schema of an %s: %w", title, err)
		}
	}
	r := &jsonschema.Reflector{
		Anonymous:      true,
		ExpandedStruct: true,
		FieldNameTag:   "yaml",
		Namer:          func(t reflect.Type) string { return strings.TrimSuffix(t.Name(), "File") },
		LookupComment:  func(t reflect.Type, field string) string { return comments[strings.Trim(t.Name()+"."+field, ".")] },
	}
	r.Mapper = func(t reflect.Type) *jsonschema.Schema { return form(r, t) }
	s := r.Reflect(root)
	s.Version = "http://json-schema.org/draft-07/schema#"
	s.Title = title
	s.PatternProperties = map[string]*jsonschema.Schema{"^" + freePrefix: jsonschema.TrueSchema}
	for _, name := range []string{"rate", "judgeRate"} {
		s.Definitions[name].Not = anyOf(together("tokens_per_minute", "input_tokens_per_minute"), together("tokens_per_minute", "output_tokens_per_minute"))
		one := uint64(1)
		s.Definitions[name].MinProperties = &one
	}
	refine(s)

	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("make schema of an %s: %w", title, err)
	}
	// The generator writes the words of a later draft.
	out = bytes.ReplaceAll(out, []byte(`"$defs"`), []byte(`"definitions"`))
	out = bytes.ReplaceAll(out, []byte(`"#/$defs/`), []byte(`"#/definitions/`))
	return append(out, '\n'), nil
}

// together is that all of the keys are there.
func together(keys ...string) *jsonschema.Schema { return &jsonschema.Schema{Required: keys} }

// exactlyOne wants one of several keys.
func exactlyOne(s *jsonschema.Schema, keys ...string) {
	for _, key := range keys {
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{key}})
	}
}

// patterned is a text of another format than suites, which a regular expression
// describes to editors.
type patterned interface{ Pattern() string }

// form is the schema of a type that decodes itself; nil leaves it to the
// generator.
func form(r *jsonschema.Reflector, t reflect.Type) *jsonschema.Schema {
	if c, ok := reflect.TypeAssert[strictyaml.Chooser](reflect.Zero(t)); ok {
		s := &jsonschema.Schema{Type: "string"}
		for _, choice := range c.Choices() {
			s.Enum = append(s.Enum, choice)
		}
		return orExpression(s)
	}
	if p, ok := reflect.TypeAssert[patterned](reflect.Zero(t)); ok {
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: p.Pattern()})
	}
	number := func(kind, least, most string) *jsonschema.Schema {
		return orExpression(&jsonschema.Schema{Type: kind, Minimum: json.Number(least), Maximum: json.Number(most)})
	}
	// object is the schema of a struct in its place: what has several forms is
	// written once.
	object := func(v any) *jsonschema.Schema {
		inner := *r
		inner.DoNotReference = true
		s := inner.Reflect(v)
		s.Version = ""
		return s
	}
	text := &jsonschema.Schema{Type: "string"}
	switch t {
	case reflect.TypeFor[strictyaml.Node]():
		return &jsonschema.Schema{}
	case reflect.TypeFor[version]():
		return &jsonschema.Schema{Type: "integer", Enum: []any{formatVersion}}
	case reflect.TypeFor[positive]():
		return number("integer", "1", fmt.Sprint(most))
	case reflect.TypeFor[natural]():
		return number("integer", "0", fmt.Sprint(most))
	case reflect.TypeFor[several]():
		return number("integer", "2", fmt.Sprint(most))
	case reflect.TypeFor[int]():
		return orExpression(&jsonschema.Schema{Type: "integer"})
	case reflect.TypeFor[float64]():
		return orExpression(&jsonschema.Schema{Type: "number"})
	case reflect.TypeFor[bool]():
		return orExpression(&jsonschema.Schema{Type: "boolean"})
	case reflect.TypeFor[share]():
		return number("number", "0", "1")
	case reflect.TypeFor[threshold]():
		return orExpression(&jsonschema.Schema{Type: "number", ExclusiveMinimum: "0", Maximum: "1"})
	case reflect.TypeFor[margin]():
		return orExpression(&jsonschema.Schema{Type: "number", ExclusiveMinimum: "0", Maximum: "1"})
	case reflect.TypeFor[chance]():
		return orExpression(&jsonschema.Schema{Type: "number", ExclusiveMinimum: "0", ExclusiveMaximum: "0.5"})
	case reflect.TypeFor[checkWeight]():
		return number("number", "0", fmt.Sprint(most))
	case reflect.TypeFor[distance]():
		return orExpression(&jsonschema.Schema{Type: "number", Minimum: "0"})
	case reflect.TypeFor[temperature]():
		return number("number", "0", "2")
	case reflect.TypeFor[seedFile]():
		return anyOf(&jsonschema.Schema{Const: trialSeed}, orExpression(&jsonschema.Schema{Type: "integer"}))
	case reflect.TypeFor[sum]():
		return number("integer", "1", fmt.Sprint(mostSum))
	case reflect.TypeFor[perMillion]():
		return number("number", "0", fmt.Sprint(mostPerMillion))
	case reflect.TypeFor[factor]():
		return orExpression(&jsonschema.Schema{Type: "number", ExclusiveMinimum: "0", Maximum: json.Number(fmt.Sprint(mostFactor))})
	case reflect.TypeFor[PriceFile]():
		price := object(priceMapFile{})
		price.AnyOf = []*jsonschema.Schema{together("input", "output"), together("like"), {Required: []string{"factor"}, Not: anyPrice()}}
		tiers, _ := price.Properties.Get("tiers")
		tiers.Items.Required = append(tiers.Items.Required, "input", "output")
		price.Not = &jsonschema.Schema{Required: []string{"like"}, AnyOf: anyPrice().AnyOf}
		return anyOf(&jsonschema.Schema{Const: freePrice}, &jsonschema.Schema{Const: 0}, price)
	case reflect.TypeFor[Dollars]():
		return orExpression(&jsonschema.Schema{Type: "number", ExclusiveMinimum: "0", Maximum: json.Number(fmt.Sprint(most))})
	case reflect.TypeFor[duration]():
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: durationPattern})
	case reflect.TypeFor[rule]():
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: rulePattern})
	case reflect.TypeFor[imageRef]():
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: imagePattern})
	case reflect.TypeFor[networkName]():
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: networkPattern})
	case reflect.TypeFor[branchName]():
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: branchPattern})
	case reflect.TypeFor[memorySize]():
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: memoryPattern})
	case reflect.TypeFor[containerUser]():
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: userPattern})
	case reflect.TypeFor[mountTarget]():
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: targetPattern})
	case reflect.TypeFor[processors]():
		return orExpression(&jsonschema.Schema{Type: "number", ExclusiveMinimum: "0", Maximum: json.Number(fmt.Sprint(most))})
	case reflect.TypeFor[caseID](), reflect.TypeFor[stepID]():
		length := uint64(maxID)
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: idPattern, MaxLength: &length})
	case reflect.TypeFor[Capability]():
		return orExpression(&jsonschema.Schema{Type: "string", Pattern: capabilityPattern})
	case reflect.TypeFor[varsFile]():
		return &jsonschema.Schema{Type: "object", PropertyNames: &jsonschema.Schema{Pattern: variableNameRE.String()}}
	case reflect.TypeFor[includeFile]():
		data := object(datasetFile{})
		template, _ := data.Properties.Get("case")
		data.Properties.Set("case", &jsonschema.Schema{Type: "object", Description: template.Description})
		return anyOf(text, data)
	case reflect.TypeFor[axisFile]():
		scalar := anyOf(text, &jsonschema.Schema{Type: "number"}, &jsonschema.Schema{Type: "boolean"})
		return anyOf(
			&jsonschema.Schema{Type: "array", Items: scalar},
			&jsonschema.Schema{Type: "object", AdditionalProperties: object(pointFile{})},
		)
	case reflect.TypeFor[repeatsFile]():
		choice := object(rangeFile{})
		exactlyOne(choice, "fit", "stop")
		return anyOf(number("integer", "1", fmt.Sprint(most)), choice)
	case reflect.TypeFor[expectErrorFile]():
		return anyOf(&jsonschema.Schema{Const: true}, text, object(rejectionFile{}))
	case reflect.TypeFor[rulesFile]():
		one := uint64(1)
		return anyOf(&jsonschema.Schema{Const: "all"}, &jsonschema.Schema{Type: "array", Items: text, MinItems: &one})
	case reflect.TypeFor[notFile]():
		return anyOf(form(r, reflect.TypeFor[bool]()), &jsonschema.Schema{Ref: "#/$defs/check"})
	case reflect.TypeFor[textFile]():
		return anyOf(text, object(placedTextFile{}))
	case reflect.TypeFor[regexFile]():
		return anyOf(text, object(placedRegexFile{}))
	case reflect.TypeFor[callPatternFile]():
		return anyOf(text, object(callFile{}))
	case reflect.TypeFor[calledFile]():
		return anyOf(text, object(countedCallFile{}))
	case reflect.TypeFor[noRepeatsFile]():
		return anyOf(&jsonschema.Schema{Const: true}, object(repeatsBoundFile{}))
	case reflect.TypeFor[noSensitiveFile]():
		return anyOf(&jsonschema.Schema{Const: true}, object(sensitiveFile{}))
	case reflect.TypeFor[compareFile]():
		comparison := object(comparisonFile{})
		exactlyOne(comparison, "regex", "number")
		number, _ := comparison.Properties.Get("number")
		exactlyOne(number, "relative", "absolute")
		return anyOf(form(r, reflect.TypeFor[how]()), comparison)
	case reflect.TypeFor[passRateFile]():
		return anyOf(form(r, reflect.TypeFor[rule]()), object(passRatesFile{}))
	}
	return nil
}

// registeredAndMore is a server that is registered and says what only others say.
func registeredAndMore() *jsonschema.Schema {
	s := together("registered")
	for _, key := range endpointKeys() {
		s.AnyOf = append(s.AnyOf, together(key))
	}
	return s
}

// anyPrice is that a price says some number.
func anyPrice() *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, key := range priceKeys() {
		s.AnyOf = append(s.AnyOf, together(key))
	}
	return s
}

func anyOf(forms ...*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: forms}
}

// orExpression also accepts ${{ … }}, which takes the place of a value.
func orExpression(s *jsonschema.Schema) *jsonschema.Schema {
	return anyOf(s, &jsonschema.Schema{Type: "string", Pattern: `\$\{\{.*\}\}`})
}

// readComments finds the comments of types, as "type", and of fields, as
// "type.Field".
func readComments(sources fs.FS, comments map[string]string) error {
	files, err := fs.ReadDir(sources, ".")
	if err != nil {
		return err
	}
	for _, entry := range files {
		name := entry.Name()
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			types, ok := decl.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			spec := types.Specs[0].(*ast.TypeSpec)
			comments[spec.Name.Name] = oneLine(types.Doc.Text())
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range body.Fields.List {
				for _, ident := range field.Names {
					comments[spec.Name.Name+"."+ident.Name] = oneLine(field.Doc.Text())
				}
			}
		}
	}
	return nil
}
