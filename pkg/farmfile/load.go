package farmfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// Options change how a file is read. Their zero value reads it with an empty
// environment.
type Options struct {
	// LookupEnv gives the variables that ${{ env.NAME }} may refer to. Nil means
	// that none is set.
	LookupEnv func(name string) (string, bool)
	// Base is a folder; problems name a file in it relative to it. Empty means that
	// they name the file as Load was given it.
	Base string
	// Dir is the folder that paths in the file count from. Load takes that of the
	// file; empty leaves them as they are written.
	Dir string
}

// Load reads a farm file. The error is [os.ErrNotExist] when there is none, and a
// [*suite.ProblemsError] when it is wrong.
func Load(path string, opts Options) (*File, error) {
	data, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("load farm file: %w", err)
	}
	opts.Dir, err = filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("load farm file: %w", err)
	}
	return Parse(suite.Short(opts.Base, path), data, opts)
}

// Parse reads a farm file from memory. Its name is shown in problems. The error is
// a [*suite.ProblemsError].
func Parse(name string, data []byte, opts Options) (*File, error) {
	if opts.LookupEnv == nil {
		opts.LookupEnv = func(string) (string, bool) { return "", false }
	}
	root, all := strictyaml.Parse(name, data)
	out := &File{}
	if root != nil && !root.Bad {
		all = append(all, suite.Evaluate(root, opts.LookupEnv)...)
		var file farmFile
		all = append(all, strictyaml.Decode(root, &file, strictyaml.Options{Free: "x-"})...)
		b := &build{out: out, all: all, dir: opts.Dir}
		b.file(&file)
		b.notifications(&file)
		all = b.all
	}
	strictyaml.Sort(all)
	for i, p := range all {
		if Mask(p.Source) != p.Source {
			all[i] = suite.Secretive(p)
		}
	}
	suite.Hide(all)
	for _, p := range all {
		if !p.Warning {
			return nil, &suite.ProblemsError{Path: name, Problems: all}
		}
	}
	out.Warnings = all
	return out, nil
}

// read returns at most one byte more than a file may have.
func read(path string) ([]byte, error) {
	// Looked at before it is opened: opening a pipe would wait for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New(path + " is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, strictyaml.MaxBytes+1))
}
