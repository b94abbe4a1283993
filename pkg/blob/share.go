package blob

import "context"

// A Share is a store that a scheduler and its workers reach without each other: a
// folder, or a bucket. Beside the blobs it has small files, by name.
type Share interface {
	Store
	// ReadFile returns the content of a file, or an error that is
	// [os.ErrNotExist].
	ReadFile(ctx context.Context, name string) ([]byte, error)
	// WriteFile replaces a file, wholly or not at all.
	WriteFile(ctx context.Context, name string, content []byte) error
}

// Named says whether a name can be that of a blob: a sha256 in lower-case hex.
// Names come from records, so they are looked at before they become paths.
func Named(sha256 string) bool {
	if len(sha256) != 64 {
		return false
	}
	for _, c := range sha256 {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
