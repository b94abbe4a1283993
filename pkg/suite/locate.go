package suite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// locate finds the suite file that a path stands for. A folder of scenarios is
// found itself, with its files.
func locate(file string) (found string, scenarios []string, err error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil, fmt.Errorf("load suite %s: no such file or folder", file)
	case err != nil:
		return "", nil, fmt.Errorf("load suite %s: %w", file, err)
	case !info.IsDir():
		return file, nil, nil
	}
	entries, err := os.ReadDir(file)
	if err != nil {
		return "", nil, fmt.Errorf("load suite %s: %w", file, err)
	}
	var suites []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "suite.yaml":
			return filepath.Join(file, name), nil, nil
		case !e.IsDir() && isSuiteName(name):
			suites = append(suites, name)
		}
	}
	switch len(suites) {
	case 1:
		return filepath.Join(file, suites[0]), nil, nil
	case 0:
		return "", nil, fmt.Errorf("load suite %s: the folder has no suite.yaml and no other .yaml, .yml or .json file", file)
	}
	var paths []string
	for _, name := range suites {
		paths = append(paths, filepath.Join(file, name))
	}
	if allScenarios(paths) {
		return filepath.Clean(file), paths, nil
	}
	return "", nil, fmt.Errorf("load suite %s: the folder has no suite.yaml and several other files; name one of %s", file, strings.Join(suites, ", "))
}

// allScenarios says whether files are scenarios. Those that cannot be read may
// be some; loading says what is wrong with them.
func allScenarios(files []string) bool {
	some := false
	for _, file := range files {
		n := peek(file)
		if n == nil {
			continue
		}
		if foreign(n) != formatScenario {
			return false
		}
		some = true
	}
	return some
}

// peek parses a file to see what it is; nil means that it cannot be told.
func peek(file string) *strictyaml.Node {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > strictyaml.MaxBytes {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	n, _ := strictyaml.Parse(file, data)
	return n
}

func isSuiteName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".lock.json") && !strings.HasSuffix(name, ".schema.json")
	}
	return false
}

// Short is the name of a file as seen from a folder around it.
func Short(base, file string) string {
	if base == "" {
		return file
	}
	rel, err := filepath.Rel(base, file)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return file
	}
	return rel
}

// defaultName is the name of a suite that has none.
func defaultName(file string) string {
	base := filepath.Base(file)
	if abs, err := filepath.Abs(file); err == nil {
		if info, err := os.Stat(abs); err == nil && info.IsDir() {
			return filepath.Base(abs)
		}
		if base == "suite.yaml" {
			return filepath.Base(filepath.Dir(abs))
		}
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}
