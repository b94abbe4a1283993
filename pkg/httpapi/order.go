package httpapi

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// An Order asks for a run of a suite that is sent.
type Order struct {
	// Suite to run, and With, which completes it.
	Suite Sources  `json:"suite"`
	With  *Sources `json:"with,omitempty"`
	// Gate is a policy file, which replaces the gate of the suite.
	Gate *Sources `json:"gate,omitempty"`
	// Name of the suite as whoever sends it knows it, for people.
	Name string `json:"name,omitempty"`
	// Set replaces variables of the suite. Env has those of the sender's environment
	// that it refers to: it sees no other.
	Set map[string]string `json:"set,omitempty"`
	Env map[string]string `json:"env,omitempty"`
	// Cases, Tags, Axes and Repeats narrow the suite.
	Cases   []string            `json:"cases,omitempty"`
	Tags    []string            `json:"tags,omitempty"`
	Axes    map[string][]string `json:"axes,omitempty"`
	Repeats int                 `json:"repeats,omitempty"`
	// Seed of the order and of the trials; 0 is any.
	Seed uint64 `json:"seed,omitempty"`
	// Attempts is how many failures of the farm end a trial as an error; 0 is as the
	// farm has it.
	Attempts int         `json:"attempts,omitempty"`
	Budget   eval.Budget `json:"budget,omitzero"`
	Priority int         `json:"priority,omitempty"`
	Tenant   string      `json:"tenant,omitempty"`
	// Baseline of the farm's store: last-green, a name, or the id of a run. The gate
	// compares with it, and its trajectories are expected where the suite lists no calls.
	Baseline string    `json:"baseline,omitempty"`
	Git      *eval.Git `json:"git,omitempty"`
	// Key is the idempotency key, Traceparent the trace context of who asks, as
	// [telemetry.Caller] gives it. Both travel as headers.
	Key         string `json:"-"`
	Traceparent string `json:"-"`
}

// Sources are a file, or a folder, with the files that it refers to.
type Sources struct {
	// Path of the file among Files, or of a folder that some of them are in.
	Path  string       `json:"path"`
	Files []SourceFile `json:"files"`
}

// A SourceFile is a file of a suite, whose content is a blob.
type SourceFile struct {
	// Path with slashes, below the folder that no path of the suite leaves.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// A Delivery is an order whose files are here.
type Delivery struct {
	Order
	// Dir has the files of the suite in its folder suite, those of With in with, and
	// those of Gate in gate.
	// It is removed when the order has been carried out.
	Dir string
	// SuitePath, WithPath and GatePath are those of the order, in Dir. The last two may
	// be empty.
	SuitePath, WithPath, GatePath string
	// Bound is the tenant that the bearer is bound to: nothing of others may reach the
	// run. Empty for none.
	Bound string
}

// Bounds of an order.
const (
	maxOrder = 4 << 20  // bytes of the order itself
	maxFiles = 5000     // files of a suite
	maxSent  = 64 << 20 // bytes of all of them
	maxName  = 4096     // bytes of the suite's name for people
	maxPath  = 2048     // bytes of the path of a file
	maxPart  = 255      // bytes of one name in it, as file systems have it
)

// tooLarge says that an order is beyond its bounds.
func tooLarge(format string, args ...any) error {
	return &Problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf(format, args...)}
}

// malformed says what is wrong with an order.
func malformed(format string, args ...any) error {
	return &Problem{Status: http.StatusBadRequest, Detail: fmt.Sprintf(format, args...)}
}

// check finds what is wrong with the paths and hashes of the files.
func (s *Sources) check(what string) error {
	if len(s.Files) > maxFiles {
		return tooLarge("the %s has %d files, and at most %d are taken", what, len(s.Files), maxFiles)
	}
	seen := map[string]bool{}
	for _, f := range s.Files {
		if !inside(f.Path) || f.Path == "." {
			return malformed("%.200q is no path of a file in the %s: want one with slashes, without .., below its folder", f.Path, what)
		}
		if seen[f.Path] {
			return malformed("the %s has the file %.200q twice", what, f.Path)
		}
		seen[f.Path] = true
		if raw, err := hex.DecodeString(f.SHA256); err != nil || len(raw) != 32 {
			return malformed("the sha256 of %.200q is not 64 hex digits", f.Path)
		}
	}
	for p := range seen {
		for up := path.Dir(p); up != "."; up = path.Dir(up) {
			if seen[up] {
				return malformed("%.200q is a file and a folder of the %s", up, what)
			}
		}
	}
	if !inside(s.Path) || !seen[s.Path] && !slices.ContainsFunc(s.Files, func(f SourceFile) bool { return path.Dir(f.Path) == s.Path }) {
		return malformed("the path of the %s, %.200q, is none of its files and no folder of one", what, s.Path)
	}
	return nil
}

// inside says whether a path stays where it is.
func inside(p string) bool {
	local, err := filepath.Localize(p) // refuses what is special to the machine, too
	if err != nil || !fs.ValidPath(p) || !filepath.IsLocal(local) || len(p) > maxPath {
		return false
	}
	return !slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return len(part) > maxPart })
}

// commitRE matches commits of git, and none.
var commitRE = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})?$`)

// check finds what is wrong with an order before a file of it is looked at.
func (o *Order) check() error {
	if err := o.Suite.check("suite"); err != nil {
		return err
	}
	if o.With != nil {
		if err := o.With.check("file that completes it"); err != nil {
			return err
		}
	}
	if o.Gate != nil {
		if err := o.Gate.check("file of the gate"); err != nil {
			return err
		}
	}
	for _, text := range []string{o.Name, o.Tenant, o.Baseline} {
		if len(text) > maxName || strings.ContainsFunc(text, unicode.IsControl) {
			return malformed("a name has more than %d bytes, or control characters", maxName)
		}
	}
	if o.Git != nil && (len(o.Git.Branch) > maxName || strings.ContainsFunc(o.Git.Branch, unicode.IsControl)) {
		return malformed("git: %.80q is no branch", o.Git.Branch)
	}
	if o.Git != nil && !commitRE.MatchString(o.Git.Commit) {
		return malformed("git: %.80q is no commit", o.Git.Commit)
	}
	return scheduler.CheckKey(o.Key)
}

// unpack writes the files of sources into a new folder. Files that are not there are
// an [*missingError].
func (s *Sources) unpack(ctx context.Context, from blob.Store, dir string, left *int) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("unpack a suite: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack a suite: %w", err)
	}
	defer root.Close()
	lacks := &missingError{}
	for _, f := range s.Files {
		b, err := from.GetBlob(ctx, f.SHA256)
		if errors.Is(err, store.ErrNotFound) {
			if !slices.Contains(lacks.files, f.SHA256) {
				lacks.files = append(lacks.files, f.SHA256)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("read file %q of a suite: %w", f.Path, err)
		}
		if len(lacks.files) > 0 {
			continue // only what else is missing matters now
		}
		data, err := blob.Unpack(b)
		if err != nil {
			return fmt.Errorf("read file %q of a suite: %w", f.Path, err)
		}
		if *left -= len(data); len(data) > strictyaml.MaxBytes+1 || *left < 0 {
			return tooLarge("with %.200q the files of the suite are too large: at most %d bytes each, and %d together", f.Path, strictyaml.MaxBytes, maxSent)
		}
		if err := root.MkdirAll(path.Dir(f.Path), 0o700); err != nil {
			return fmt.Errorf("unpack a suite: %w", err)
		}
		if err := root.WriteFile(f.Path, data, 0o600); err != nil {
			return fmt.Errorf("unpack a suite: %w", err)
		}
	}
	if len(lacks.files) > 0 {
		return lacks
	}
	return nil
}

// deliver brings the files of an order into a folder of its own.
func deliver(ctx context.Context, from blob.Store, o Order, dir string) (Delivery, error) {
	d := Delivery{Order: o, Dir: dir, SuitePath: filepath.Join(dir, suiteDir, filepath.FromSlash(o.Suite.Path))}
	left := maxSent
	err := o.Suite.unpack(ctx, from, filepath.Join(dir, suiteDir), &left)
	lack, missing := errors.AsType[*missingError](err)
	switch {
	case missing:
	case err != nil:
		return d, err
	default:
		lack = &missingError{}
	}
	for _, part := range []struct {
		of   *Sources
		dir  string
		path *string
	}{{o.With, withDir, &d.WithPath}, {o.Gate, gateDir, &d.GatePath}} {
		if part.of == nil {
			continue
		}
		*part.path = filepath.Join(dir, part.dir, filepath.FromSlash(part.of.Path))
		err := part.of.unpack(ctx, from, filepath.Join(dir, part.dir), &left)
		if more, ok := errors.AsType[*missingError](err); ok {
			lack.files = append(lack.files, more.files...)
		} else if err != nil {
			return d, err
		}
	}
	if len(lack.files) > 0 {
		return d, lack
	}
	return d, nil
}

// The folders of a delivery. The names of files in problems begin with them.
const (
	suiteDir = "suite"
	withDir  = "with"
	gateDir  = "gate"
)

// Projects are the folders that no path of the suite, or of what completes it, leaves.
func (d Delivery) Projects() []string {
	return []string{filepath.Join(d.Dir, suiteDir), filepath.Join(d.Dir, withDir), filepath.Join(d.Dir, gateDir)}
}
