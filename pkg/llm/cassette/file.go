package cassette

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// recording is the content of a file: a request and what came of it.
type recording struct {
	// Key of the request, of which the name of the file has the beginning.
	Key      string    `json:"key"`
	Request  request   `json:"request"`
	Response *response `json:"response,omitempty"`
	Error    *failure  `json:"error,omitempty"`
}

// folder and file name where a call is kept, with slashes.
func (r request) folder() string {
	var parts []string
	for part := range strings.SplitSeq(r.Case, "/") {
		parts = append(parts, safe(part))
	}
	return path.Join(parts...)
}

func (r request) file(key string) string {
	return path.Join(r.folder(), fmt.Sprintf("%s%.16s.json", r.prefix(), key))
}

// prefix begins the names of all files of a repeat and a role.
func (r request) prefix() string {
	return fmt.Sprintf("%d-%s-", r.Repeat, safe(strings.ReplaceAll(r.Role, "/", "-")))
}

// safe makes a name of one part of a path: what is no letter, digit, dash,
// underscore or dot inside is percent-encoded, so that it is neither hidden nor
// leads anywhere.
func safe(part string) string {
	var out strings.Builder
	for i, b := range []byte(part) {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '-', b == '_', b == '.' && i > 0:
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	if out.Len() == 0 {
		return "%"
	}
	return out.String()
}

// read returns the recording in a file.
func read(root *os.Root, name string) (recording, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return recording{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return recording{}, err
	}
	var rec recording
	if err := json.Unmarshal(data, &rec); err != nil {
		return recording{}, fmt.Errorf("it is no recording: %w", err)
	}
	if (rec.Response == nil) == (rec.Error == nil) {
		return recording{}, errors.New("it is no recording: want either a response or an error in it")
	}
	return rec, nil
}

// write puts a recording into a file, at once or not at all.
func write(root *os.Root, name string, rec recording) error {
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755); err != nil {
		return err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rec); err != nil {
		return err
	}
	whole, part := filepath.FromSlash(name), filepath.FromSlash(name)+"."+rand.Text()+".part"
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(out.Bytes())
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(part, whole)
	}
	if err != nil {
		return errors.Join(err, root.Remove(part))
	}
	return nil
}
