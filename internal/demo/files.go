package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
)

//go:embed acme desk proxy
var files embed.FS

// decodeFile decodes an embedded file, numbers kept as they are written.
func decodeFile(name string, into any) error {
	raw, err := files.ReadFile(name)
	if err != nil {
		return fmt.Errorf("load %s: %w", name, err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("load %s: %w", name, err)
	}
	return nil
}
