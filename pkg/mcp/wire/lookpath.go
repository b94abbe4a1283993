package wire

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LookPath finds an executable the way a shell in dir with that environment
// would.
func LookPath(name string, env []string, dir string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	var path string
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if file := filepath.Join(folder, name); executable(file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("command %q was not found on PATH", name)
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("command %s does not exist", file)
	case err != nil:
		return fmt.Errorf("command: %w", err)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("command %s is not executable", file)
	}
	return nil
}
