package suite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// Found is a suite under a folder.
type Found struct {
	// Path of the file, below the folder that was searched.
	Path string
	Name string
	// Cases after data sets and each.
	Cases int
	// Kinds of the cases, sorted.
	Kinds []eval.Kind
	// Err says why the suite cannot be used.
	Err error
}

// Find lists the suites in a folder and below, sorted by path. Other YAML and
// JSON files, hidden folders and node_modules are passed over. What only the
// command line or the environment would give is no error here.
func Find(root string) ([]Found, error) {
	var found []Found
	whole := map[string]bool{} // folders that are one suite
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir():
			if path != root && (strings.HasPrefix(name, ".") || name == "node_modules") {
				return fs.SkipDir
			}
			if _, scenarios, err := locate(path); err == nil && len(scenarios) > 0 {
				whole[path] = true
				found = append(found, look(path))
			}
			return nil
		case whole[filepath.Dir(path)]:
			return nil
		case !d.Type().IsRegular() || !isSuiteName(name) || !looksLikeSuite(path):
			return nil
		}
		found = append(found, look(path))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find suites in %s: %w", root, err)
	}
	return found, nil
}

// looksLikeSuite tells suites from other files: by their format, or by a
// version and cases. Files that are only extended or included are passed over
// when they have no cases; those with cases can run alone.
func looksLikeSuite(path string) bool {
	if info, err := os.Stat(path); err == nil && info.Size() > strictyaml.MaxBytes {
		return false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return true // loading says why
	}
	n, _ := strictyaml.Parse(path, data)
	if n == nil {
		// Too broken to tell: named as one, or in our words.
		return filepath.Base(path) == "suite.yaml" || strings.Contains(string(data), "\ncases:")
	}
	if foreign(n) != formatSuite {
		return true
	}
	return n.Field("version") != nil && (n.Field("cases") != nil || n.Field("include") != nil || n.Field("extends") != nil)
}

func look(path string) Found {
	f := Found{Path: path, Name: defaultName(path)}
	loaded, err := Load(path, Options{lenient: true})
	if err != nil {
		f.Err = err
		return f
	}
	f.Name, f.Cases = loaded.Suite.Name, len(loaded.Suite.Cases)
	for _, c := range loaded.Suite.Cases {
		if !slices.Contains(f.Kinds, c.Kind) {
			f.Kinds = append(f.Kinds, c.Kind)
		}
	}
	slices.Sort(f.Kinds)
	return f
}
