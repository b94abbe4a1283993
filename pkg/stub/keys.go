package stub

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// keyOf finds the key that a request shows, in any of the providers' places.
func keyOf(r *http.Request) string {
	if k, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return k
	}
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		if k := r.Header.Get(name); k != "" {
			return k
		}
	}
	return r.URL.Query().Get("key")
}

// fingerprint stands for a key wherever it is kept or shown.
func fingerprint(key string) string {
	if key == "" {
		return "none"
	}
	sum := sha256.Sum256([]byte(key))
	return "key-" + hex.EncodeToString(sum[:4])
}
