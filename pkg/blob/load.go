package blob

import (
	"context"
	"encoding/json"
	"fmt"
)

// LoadJSON decodes the blob with the given sha256 into a value.
func LoadJSON(ctx context.Context, s Store, sha256 string, into any) error {
	b, err := s.GetBlob(ctx, sha256)
	if err != nil {
		return fmt.Errorf("load blob %.12s: %w", sha256, err)
	}
	raw, err := Unpack(b)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decode blob %.12s: %w", sha256, err)
	}
	return nil
}
