package intake

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Open opens a file to [Read]. What can be read only once (standard input for "-", a
// pipe) and what is packed (a path that ends in ".gz") is first copied into a file in
// the folder dir, which has no name any more and is gone with the process.
func Open(path, dir string, stdin io.Reader) (*os.File, error) {
	if path == "-" {
		return spool(dir, bufio.NewReader(stdin))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(err, f.Close())
	case info.IsDir():
		return nil, errors.Join(fmt.Errorf("%s is a folder", path), f.Close())
	}
	packed := strings.HasSuffix(path, ".gz")
	if info.Mode().IsRegular() && !packed {
		return f, nil
	}
	defer f.Close()
	r := io.Reader(bufio.NewReader(f))
	if packed {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", path, err)
		}
	}
	return spool(dir, r)
}

// spool copies a stream into a file.
func spool(dir string, r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp(dir, "import-*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("copy the input: %w", err)
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = io.Copy(f, r)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy the input: %w", err), f.Close())
	}
	return f, nil
}
