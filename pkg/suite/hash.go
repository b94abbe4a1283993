package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// hash is the identity of a suite's content: of its canonical JSON, without the
// folders of this machine. The order of an axis's values does not count.
func hash(s *eval.Suite) string {
	content := *s
	content.Servers = map[string]eval.Server{}
	for name, server := range s.Servers {
		if filepath.IsAbs(server.Dir) {
			server.Dir = ""
		}
		server.Container.Mounts = slices.Clone(server.Container.Mounts)
		for i := range server.Container.Mounts {
			if m := &server.Container.Mounts[i]; filepath.IsAbs(m.Source) {
				m.Source = ""
			}
		}
		server.Registered = "" // what runs counts, whoever described it
		content.Servers[name] = server
	}
	content.Axes = slices.Clone(s.Axes)
	for i := range content.Axes {
		points := slices.Clone(content.Axes[i].Points)
		slices.SortFunc(points, func(a, b eval.Point) int { return cmp.Compare(a.Value, b.Value) })
		content.Axes[i].Points = points
	}
	// Decoding and encoding again sorts the keys of raw values.
	tree, err := eval.Decode(eval.Encode(content))
	if err != nil {
		panic("hash suite: " + err.Error()) // Encode has just written it
	}
	sum := sha256.Sum256(eval.Encode(tree))
	return "sha256:" + hex.EncodeToString(sum[:])
}
