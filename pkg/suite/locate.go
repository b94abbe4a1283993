package suite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// locate finds the suite file that a path stands for.
func locate(file string) (string, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("load suite %s: no such file or folder", file)
	case err != nil:
		return "", fmt.Errorf("load suite %s: %w", file, err)
	case !info.IsDir():
		return file, nil
	}
	entries, err := os.ReadDir(file)
	if err != nil {
		return "", fmt.Errorf("load suite %s: %w", file, err)
	}
	var suites []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "suite.yaml":
			return filepath.Join(file, name), nil
		case !e.IsDir() && isSuiteName(name):
			suites = append(suites, name)
		}
	}
	switch len(suites) {
	case 1:
		return filepath.Join(file, suites[0]), nil
	case 0:
		return "", fmt.Errorf("load suite %s: the folder has no suite.yaml and no other .yaml, .yml or .json file", file)
	}
	return "", fmt.Errorf("load suite %s: the folder has no suite.yaml and several other files; name one of %s", file, strings.Join(suites, ", "))
}

func isSuiteName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".lock.json") && !strings.HasSuffix(name, ".schema.json")
	}
	return false
}

// short is the name of a file as seen from a folder around it.
func short(base, file string) string {
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
	if base == "suite.yaml" {
		if abs, err := filepath.Abs(file); err == nil {
			return filepath.Base(filepath.Dir(abs))
		}
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}
