package suite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// A project is the folder that the paths of a suite file stay inside: the
// nearest one above the file with a .git or a go.mod, or that the options name,
// else the file's own. Symbolic links that lead out are refused by [os.Root].
type project struct {
	dir  string // absolute
	root *os.Root
}

// openProject finds the project of a file and the file's path in it. Named folders
// are projects whatever is in them.
func openProject(file string, named ...string) (*project, string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, "", fmt.Errorf("locate %s: %w", file, err)
	}
	dir := filepath.Dir(abs)
	for up := dir; ; up = filepath.Dir(up) {
		if slices.Contains(named, up) || exists(filepath.Join(up, ".git")) || exists(filepath.Join(up, "go.mod")) {
			dir = up
			break
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", fmt.Errorf("open project folder %s: %w", dir, err)
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("locate %s in %s: %w", file, dir, err), root.Close())
	}
	return &project{dir, root}, filepath.ToSlash(rel), nil
}

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

// read returns at most one byte more than a file may have.
func (p *project) read(name string) ([]byte, error) {
	// Looked at before it is opened: opening a pipe would wait for its writer.
	info, err := p.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := p.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, strictyaml.MaxBytes+1))
}

// origin is where a file of the suite is: its project and path in it, and the
// name that problems show.
type origin struct {
	project *project
	name    string // slash path in the project
	shown   string
}

// sibling is the path of a file written in this one; ok is false when it leaves
// the project.
func (o origin) sibling(name string) (origin, bool) {
	clean := path.Join(path.Dir(o.name), filepath.ToSlash(name))
	if path.IsAbs(name) || filepath.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../") {
		return origin{}, false
	}
	rel, err := filepath.Rel(path.Dir(o.name), clean)
	if err != nil {
		return origin{}, false
	}
	return origin{o.project, clean, filepath.Join(filepath.Dir(o.shown), rel)}, true
}

// plain says why a file could not be read, without the machine's paths.
func plain(err error) string {
	var pathErr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.As(err, &pathErr):
		return pathErr.Err.Error()
	}
	return err.Error()
}
