package suite

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// Loaded is a suite that can be run, unless Unsupported says otherwise.
type Loaded struct {
	Suite eval.Suite
	// Path of the suite file, as it was found; Dir is its folder, absolute.
	// Relative paths in the suite's servers count from Dir.
	Path string
	Dir  string
	// Hash is "sha256:" and the hash of the resolved suite as canonical JSON.
	// Formatting, comments, the order of keys and the folder do not change it.
	Hash string
	// Warnings do not keep the suite from running.
	Warnings []strictyaml.Problem
	// Unsupported lists what the suite asks for and this build cannot carry out,
	// each with its place. Such a suite must not run.
	Unsupported []strictyaml.Problem
	// Skipped is how many cases are written and left out, since they are disabled.
	Skipped int
	// Positions tells by id where each case is written.
	Positions map[string]strictyaml.Pos
	// Rules tells where each rule of the gate is written, in their order.
	Rules []strictyaml.Pos
	// Files that the suite was read from, sorted.
	Files []File
}

// Load reads a suite: a .yaml, .yml or .json file, or a folder with a
// suite.yaml, exactly one suite file, or scenario files alone. The error is a [*ProblemsError] when the
// files were found and are wrong.
func Load(file string, opts Options) (*Loaded, error) {
	found, scenarios, err := locate(file)
	if err != nil {
		return nil, err
	}
	if opts.LookupEnv == nil {
		opts.LookupEnv = func(string) (string, bool) { return "", false }
	}
	l := &loader{
		sources: sources{origins: map[string]origin{}, contents: map[string][]byte{}, rowless: map[string]bool{}},
		opts:    opts, file: found, folder: scenarios, shown: Short(opts.Base, found),
		broken: map[place]bool{}, data: map[string]bool{}, namespaced: map[string]bool{}, undecided: map[*strictyaml.Node]bool{},
	}
	loaded, err := l.load()
	if err != nil {
		return nil, err
	}
	l.all = distinct(l.all)
	strictyaml.Sort(l.all)
	l.unsupported.all = distinct(l.unsupported.all)
	Hide(l.all)
	if l.failed() {
		return nil, &ProblemsError{Path: file, Problems: l.all}
	}
	strictyaml.Sort(l.unsupported.all)
	loaded.Warnings, loaded.Unsupported = l.all, l.unsupported.all
	loaded.Hash = hash(&loaded.Suite)
	loaded.Files = l.files()
	return loaded, nil
}

// loader makes one suite of its files.
type loader struct {
	sources
	opts  Options
	file  string // the suite file, or a folder of scenarios
	shown string // its name in problems
	// folder holds the files of a folder of scenarios.
	folder []string
	in     interpolation
	// unsupported collects what this build cannot carry out.
	unsupported problems
	// broken holds the places of problems of form; what is around them is not
	// checked for sense.
	broken map[place]bool

	// Of the formats of others: the files whose strings are data; those of them
	// whose cases name tools mcp__SERVER__TOOL without naming a server; the checks
	// that leave it open who decides; what is said of the run as a whole; and how
	// many scenarios are left out.
	data       map[string]bool
	namespaced map[string]bool
	undecided  map[*strictyaml.Node]bool
	fixture    eval.Suite
	skipped    int
}

func (l *loader) load() (*Loaded, error) {
	files := l.folder
	if len(files) == 0 {
		files = []string{l.file}
	}
	project, name, err := openProject(files[0], l.opts.Projects...)
	if err != nil {
		return nil, fmt.Errorf("load suite: %w", err)
	}
	defer project.root.Close()
	loaded := &Loaded{
		Path: l.file, Dir: filepath.Dir(filepath.Join(project.dir, filepath.FromSlash(name))),
		Positions: map[string]strictyaml.Pos{},
	}
	var roots []*strictyaml.Node
	for _, file := range files {
		o := origin{project, path.Join(path.Dir(name), filepath.Base(file)), Short(l.opts.Base, file)}
		if root := l.open(o, strictyaml.Pos{}); root != nil && !root.Bad {
			roots = append(roots, root)
		}
	}
	if len(roots) == 0 {
		return loaded, nil // what cannot be read makes no sense either
	}
	tree := &strictyaml.Node{Pos: roots[0].Pos, Kind: strictyaml.Map}
	if l.opts.With != "" {
		shared, name, err := openProject(l.opts.With, l.opts.Projects...)
		if err != nil {
			return nil, fmt.Errorf("load suite: %w", err)
		}
		defer shared.root.Close()
		if below := l.with(origin{shared, name, Short(l.opts.Base, l.opts.With)}); below != nil {
			tree = below
		}
	}
	tree = l.complete(tree, roots)
	if l.opts.Gate != "" {
		policy, name, err := openProject(l.opts.Gate, l.opts.Projects...)
		if err != nil {
			return nil, fmt.Errorf("load gate: %w", err)
		}
		defer policy.root.Close()
		tree = l.governed(tree, origin{policy, name, Short(l.opts.Base, l.opts.Gate)})
	}
	l.resolve(tree, loaded)
	loaded.Skipped = l.skipped
	return loaded, nil
}

// complete puts what the files say, as a suite in our words, on top of what lies
// below them.
func (l *loader) complete(below *strictyaml.Node, roots []*strictyaml.Node) *strictyaml.Node {
	root, format := roots[0], foreign(roots[0])
	if len(l.folder) > 0 {
		format = formatScenario
	}
	if format == formatSuite {
		tree := merge(below, l.inherit(l.origins[root.File()], root, nil))
		l.interpolate(tree)
		return tree
	}
	// The strings of the files of others are data, so only what lies below is
	// interpolated.
	l.interpolate(below)
	switch format {
	case formatScenario:
		return merge(below, l.scenarios(roots, below))
	case formatConditions:
		return merge(below, l.conditions(root, below))
	default:
		return merge(below, l.golden(root))
	}
}

// with reads the file that lies below the suite.
func (l *loader) with(o origin) *strictyaml.Node {
	n := l.open(o, strictyaml.Pos{})
	if n == nil {
		return nil
	}
	l.version(n)
	n = l.inherit(o, n, nil)
	for _, key := range []string{"cases", "include"} {
		if f := n.Field(key); f != nil {
			l.report(f.Key.Pos, fmt.Sprintf("a file for --with has no %s", key), "it holds servers, models, axes, limits and defaults")
		}
	}
	return n
}

func (l *loader) interpolate(tree *strictyaml.Node) {
	l.in = interpolation{problems: &l.problems, lookupEnv: l.opts.LookupEnv, lenient: l.opts.lenient, secretless: l.opts.Grant != nil}
	l.in.setVars(tree, l.shown, l.opts.Set)
	l.in.root(tree)
}

// resolve makes a suite of the complete tree.
func (l *loader) resolve(tree *strictyaml.Node, loaded *Loaded) {
	l.collect(tree)
	var file suiteFile
	l.all = append(l.all, strictyaml.Decode(tree, &file, strictyaml.Options{Free: freePrefix})...)
	l.breaks()
	b := &build{loader: l, file: &file, loaded: loaded, suite: &loaded.Suite}
	b.run()
}

// breaks notes where the problems so far are, which are of form.
func (l *loader) breaks() {
	for _, p := range l.all {
		if !p.Warning {
			l.broken[place{p.File, p.Line, p.Column}] = true
		}
	}
}

// collect appends the cases that the suite includes to its own.
func (l *loader) collect(tree *strictyaml.Node) {
	var found []*strictyaml.Node
	if include := tree.Get("include"); include != nil {
		for i, n := range include.Items {
			if i == maxIncludes {
				l.report(n.Pos, fmt.Sprintf("more than %d entries in include", maxIncludes), "a glob with * stands for many files")
				break
			}
			var entry includeFile
			if problems := strictyaml.Decode(n, &entry, strictyaml.Options{}); len(problems) > 0 {
				continue // decoding the suite reports them
			}
			if entry.Data != nil {
				found = append(found, l.rows(&entry)...)
				continue
			}
			for _, c := range l.glob(n, entry.Glob) {
				l.in.testCase(c)
				found = append(found, c)
			}
		}
	}
	if len(found) == 0 {
		return
	}
	if own := tree.Field("cases"); own != nil {
		list := *own.Value
		list.Items = append(slices.Clone(list.Items), found...)
		own.Value = &list
		return
	}
	key := &strictyaml.Node{Pos: tree.Get("include").Pos, Kind: strictyaml.String, Text: "cases"}
	tree.Fields = append(tree.Fields, strictyaml.Field{Key: key, Value: &strictyaml.Node{Pos: key.Pos, Kind: strictyaml.List, Items: found}})
}

// distinct leaves out repetitions: a template that is wrong is wrong for every
// row.
func distinct(all []strictyaml.Problem) []strictyaml.Problem {
	seen := map[strictyaml.Problem]bool{}
	return slices.DeleteFunc(all, func(p strictyaml.Problem) bool {
		before := seen[p]
		seen[p] = true
		return before
	})
}
