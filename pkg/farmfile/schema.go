package farmfile

import (
	"embed"

	"github.com/evalfarm/evalfarm/pkg/suite"
)

// formatSources hold the comments that the schema is described with.
//
//go:embed format.go targetform.go
var formatSources embed.FS

// Schema is the JSON Schema (draft 7, which editors know) of farm files. It is made
// of the structs that [Parse] decodes into, and refuses what decoding refuses.
func Schema() ([]byte, error) {
	return suite.SchemaOf(farmFile{}, "evalfarm farm file", formatSources)
}
