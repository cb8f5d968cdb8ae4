package bellows_test

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"go/ast"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading    = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fenced     = regexp.MustCompile("(?ms)^```.*?^```")
	quoted     = regexp.MustCompile("`([^`\n]+)`")
	treePath   = regexp.MustCompile(`^(\.?[a-zA-Z0-9_-]+/[a-zA-Z0-9_./-]*(/|\.[a-z]+)|\.?[a-z0-9_-]+/|[a-zA-Z0-9_]+\.go)$`)
	choreCall  = regexp.MustCompile(`\./dev ([a-z][a-z0-9-]*)`)
	choreLine  = regexp.MustCompile(`(?m)^  ([a-z][a-z0-9-]*) `)
	slugDrop   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestDocsHold reads every page and refuses links, paths, pictures and chores that do not exist.
func TestDocsHold(t *testing.T) {
	t.Parallel()
	for _, breach := range docBreaches(t, os.DirFS(".")) {
		t.Error(breach)
	}
}

// docBreaches returns one sentence for each claim of a page that the tree does not bear out.
func docBreaches(t *testing.T, tree fs.FS) (out []string) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && outside(name):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		switch path.Ext(name) {
		case ".md":
			out = append(out, pageBreaches(tree, name)...)
		case ".svg":
			out = append(out, svgBreaches(tree, name)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(out, indexBreaches(tree)...)
}

func pageBreaches(tree fs.FS, name string) (out []string) {
	text := read(tree, name)
	prose := fenced.ReplaceAllString(text, "")
	for _, m := range linkTarget.FindAllStringSubmatch(prose, -1) {
		if why := brokenLink(tree, name, m[1]+m[2]); why != "" {
			out = append(out, fmt.Sprintf("%s: the link to %s leads nowhere: %s.", name, m[1]+m[2], why))
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(prose, -1) {
		top, _, _ := strings.Cut(m[1], "/")
		made := strings.Contains(read(tree, ".gitignore"), "\n/"+top+"/\n")
		if treePath.MatchString(m[1]) && !made && !exists(tree, m[1]) && !exists(tree, path.Join(path.Dir(name), m[1])) {
			out = append(out, fmt.Sprintf("%s: names %s, which is not in the tree.", name, m[1]))
		}
	}
	chores := choreLine.FindAllStringSubmatch(read(tree, "dev"), -1)
	for _, m := range choreCall.FindAllStringSubmatch(text, -1) {
		if m[1] != "help" && !slices.ContainsFunc(chores, func(c []string) bool { return c[1] == m[1] }) {
			out = append(out, fmt.Sprintf("%s: names ./dev %s, which ./dev help does not list.", name, m[1]))
		}
	}
	return out
}

// brokenLink says why a relative link of a page leads nowhere. Links to the web are not followed.
func brokenLink(tree fs.FS, page, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	to := page
	if file != "" {
		to = path.Join(path.Dir(page), file)
	}
	if !exists(tree, to) {
		return "there is no " + to
	}
	if anchor != "" && !slices.Contains(anchors(read(tree, to)), anchor) {
		return "no heading of " + to + " has that anchor"
	}
	return ""
}

// anchors returns the names that a page's headings get when it is shown.
func anchors(text string) (out []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		slug := slugDrop.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		out = append(out, strings.ReplaceAll(slug, " ", "-"))
	}
	return out
}

// svgBreaches wants a picture to be well-formed and to carry colours for dark pages too.
func svgBreaches(tree fs.FS, name string) (out []string) {
	text := read(tree, name)
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(out, fmt.Sprintf("%s: does not parse: %v.", name, err))
		}
	}
	if !strings.Contains(text, "prefers-color-scheme: dark") {
		out = append(out, fmt.Sprintf("%s: has no colours for a dark page.", name))
	}
	return out
}

// indexBreaches wants every page of docs in the index of its folder.
func indexBreaches(tree fs.FS) (out []string) {
	for _, dir := range []string{"docs", "docs/decisions"} {
		pages, err := fs.Glob(tree, dir+"/*.md")
		if err != nil {
			return append(out, err.Error())
		}
		index := read(tree, dir+"/README.md")
		for _, p := range pages {
			if base := path.Base(p); base != "README.md" && !strings.Contains(index, "("+base+")") {
				out = append(out, fmt.Sprintf("%s: is not in the index %s/README.md.", p, dir))
			}
		}
	}
	return out
}

func read(tree fs.FS, name string) string {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return ""
	}
	return string(text)
}

func exists(tree fs.FS, name string) bool {
	_, err := fs.Stat(tree, path.Clean(strings.TrimSuffix(name, "/")))
	return err == nil
}

// TestDocsRefuse plants one wrong claim at a time.
func TestDocsRefuse(t *testing.T) {
	t.Parallel()
	const svg = `<svg xmlns="http://www.w3.org/2000/svg"><style>@media (prefers-color-scheme: dark) { }</style></svg>`
	sound := map[string]string{
		"dev":                      "  test             everything\n",
		"README.md":                "# Top\n\n[docs](docs/README.md) `./dev test` `docs/a.md` ![p](docs/p.svg)\n",
		"docs/README.md":           "# Docs\n\n[a](a.md) [b](a.md#two-words-here) [up](../README.md#top)\n",
		".gitignore":               "# made\n/runs/\n",
		"docs/a.md":                "# A `runs/`\n\n## Two words, here\n\n```\n[not a link](nowhere)\n```\n",
		"docs/p.svg":               svg,
		"docs/decisions/README.md": "# Decisions\n",
	}
	if got := docBreaches(t, mapFS(sound)); len(got) > 0 {
		t.Errorf("refused sound pages: %q", got)
	}
	for _, c := range []struct{ file, text, want string }{
		{"docs/a.md", "# A\n\n[x](gone.md)\n", "docs/a.md: the link to gone.md leads nowhere: there is no docs/gone.md"},
		{"docs/a.md", "# A\n", "no heading of docs/a.md has that anchor"},
		{"docs/a.md", "## Two words here\n`core/server/gone.go`\n", "docs/a.md: names core/server/gone.go"},
		{"docs/a.md", "## Two words here\n./dev dance\n", "docs/a.md: names ./dev dance"},
		{"docs/new.md", "# New\n", "docs/new.md: is not in the index docs/README.md"},
		{"docs/decisions/0001-x.md", "# X\n", "docs/decisions/0001-x.md: is not in the index"},
		{"docs/p.svg", "<svg>", "docs/p.svg: does not parse"},
		{"docs/p.svg", "<svg></svg>", "docs/p.svg: has no colours for a dark page"},
		{"README.md", `# Top` + "\n" + `<img src="docs/q.svg">`, "README.md: the link to docs/q.svg leads nowhere"},
	} {
		files := fstest.MapFS{}
		for name, f := range mapFS(sound) {
			files[name] = f
		}
		files[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		if got := docBreaches(t, files); !mentions(got, c.want) {
			t.Errorf("%s: want a sentence with %q, got %q", c.file, c.want, got)
		}
	}
}

const dependencyPage = "docs/dependencies.md"

// etcdServer is the module of the etcd server, which only a nested module may require.
const etcdServer = "go.etcd.io/etcd/server/"

var requirement = regexp.MustCompile(`(?m)^(?:require|\t)\s*([^ \t\n]+\.[^ \t\n]+) (v[^ \n]+)( // indirect)?$`)

// workspace lists the nested modules that share the versions of the module in the root of the tree.
const workspace = "dev.work"

// TestDependenciesAreListed wants each module that we require on the page, those of the tables at their version.
func TestDependenciesAreListed(t *testing.T) {
	t.Parallel()
	for _, breach := range dependencyBreaches(os.DirFS(".")) {
		t.Error(breach)
	}
}

func dependencyBreaches(tree fs.FS) (out []string) {
	page := read(tree, dependencyPage)
	shared := map[string]string{} // versions of the root's modules
	for _, file := range moduleFiles(tree) {
		together := strings.Contains(read(tree, workspace), "\t./"+path.Dir(file)+"\n")
		for _, m := range requirement.FindAllStringSubmatch(read(tree, file), -1) {
			name, version, indirect := m[1], m[2], m[3] != ""
			if file == "go.mod" {
				shared[name] = version
			} else if have, ok := shared[name]; ok && together && have != version {
				out = append(out, fmt.Sprintf("%s requires %s %s, and go.mod %s: ./dev compiles both with one version.", file, name, version, have))
			}
			if indirect && file != "go.mod" {
				continue // what a tool brings along builds nothing of ours
			}
			if file == "go.mod" && strings.HasPrefix(name, etcdServer) {
				out = append(out, fmt.Sprintf("%s requires %s, which takes a minute to compile: tests against it belong into port/registry/etcd/etcdtest.", file, name))
			}
			row := strings.Join(regexp.MustCompile(`(?m)^\| `+regexp.QuoteMeta(name)+`[ |].*$`).FindAllString(page, -1), "\n")
			switch {
			case row != "" && !strings.Contains(row, version):
				out = append(out, fmt.Sprintf("%s: %s is at %s in %s.", dependencyPage, name, version, file))
			case row == "" && !indirect:
				out = append(out, fmt.Sprintf("%s: %s of %s has no row with its reason.", dependencyPage, name, file))
			case row == "" && !strings.Contains(page, shortModule(name)):
				out = append(out, fmt.Sprintf("%s: %s of %s is not named.", dependencyPage, name, file))
			}
		}
	}
	return out
}

// moduleFiles returns the go.mod of each module of the tree, the root's first.
func moduleFiles(tree fs.FS) (files []string) {
	_ = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() && name != "." && outside(name):
			return fs.SkipDir
		case path.Base(name) == "go.mod":
			files = append(files, name)
		}
		return nil
	})
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")) })
	return files
}

// shortModule returns a module path without the host github.com and without its major version.
func shortModule(name string) string {
	name = strings.TrimPrefix(name, "github.com/")
	return regexp.MustCompile(`/v[0-9]+$`).ReplaceAllString(name, "")
}

// TestDependenciesAreRefused plants a module that the page does not explain.
func TestDependenciesAreRefused(t *testing.T) {
	t.Parallel()
	const page = "| example.org/a | v1.2.0 |\n\nb/c comes with a.\n"
	for _, c := range []struct{ mod, nested, want string }{
		{"require (\n\texample.org/a v1.2.0\n)\n\nrequire (\n\tgithub.com/b/c/v2 v2.0.0 // indirect\n)\n", "", ""},
		{"require example.org/a v1.2.0\n", "", ""},
		{"require (\n\texample.org/a v1.3.0\n)\n", "", "example.org/a is at v1.3.0 in go.mod"},
		{"require example.org/d v1.0.0\n", "", "example.org/d of go.mod has no row"},
		{"require (\n\tgithub.com/e/f v1.0.0 // indirect\n)\n", "", "github.com/e/f of go.mod is not named"},
		{"require (\n\tgo.etcd.io/etcd/server/v3 v3.7.3 // indirect\n)\n", "", "go.mod requires go.etcd.io/etcd/server/v3"},
		{"require example.org/a v1.2.0\n", "require example.org/a v1.2.0 // indirect\n", ""},
		{"require example.org/a v1.2.0\n", "require example.org/a v1.3.0 // indirect\n", "bench/go.mod requires example.org/a v1.3.0, and go.mod v1.2.0"},
		{"require example.org/a v1.2.0\n", "require example.org/d v1.2.0\n", "example.org/d of bench/go.mod has no row"},
	} {
		got := dependencyBreaches(mapFS(map[string]string{
			"go.mod": c.mod, dependencyPage: page, "bench/go.mod": c.nested, workspace: "use (\n\t.\n\t./bench\n)\n",
		}))
		if c.want == "" && len(got) > 0 || c.want != "" && !mentions(got, c.want) {
			t.Errorf("%q, %q: want %q, got %q", c.mod, c.nested, c.want, got)
		}
	}
}

const goroutinePage = "docs/2-goroutines-and-locks.md"

// TestGoroutinesAndLocksAreListed wants each file that starts a goroutine or declares a lock on the page about them,
// and nothing there that does neither.
func TestGoroutinesAndLocksAreListed(t *testing.T) {
	t.Parallel()
	for _, breach := range concurrencyBreaches(t, os.DirFS(".")) {
		t.Error(breach)
	}
}

func concurrencyBreaches(t *testing.T, fsys fs.FS) (out []string) {
	t.Helper()
	tr, err := load(fsys, house{rooms: rooms, edges: edges})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(read(fsys, goroutinePage)) {
		if m := quoted.FindStringSubmatch(line); m != nil && strings.HasPrefix(line, "|") && strings.HasSuffix(m[1], ".go") {
			listed[m[1]] = true
		}
	}
	for _, p := range tr.packs {
		for _, f := range p.files {
			concurrent := !f.test && concurrency(f)
			if concurrent && p.room.floor != aside && !p.room.fake && !listed[f.name] {
				out = append(out, fmt.Sprintf("%s starts a goroutine or declares a lock: give it a line in %s.", f.name, goroutinePage))
			}
			if !concurrent && listed[f.name] {
				out = append(out, fmt.Sprintf("%s: lists %s, which starts no goroutine and declares no lock.", goroutinePage, f.name))
			}
		}
	}
	return out
}

// concurrency says whether a file starts a goroutine or coroutine, or names a lock.
func concurrency(f *source) (found bool) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		_, starts := n.(*ast.GoStmt)
		lock := slices.Contains([]string{"Mutex", "RWMutex", "Cond"}, f.call(n, "sync"))
		pull := slices.Contains([]string{"Pull", "Pull2"}, f.call(n, "iter"))
		found = found || starts || lock || pull || startsByGroup(n)
		return !found
	})
	return found
}

// TestConcurrencyIsRefused plants what the page does not list, and lists what is not there.
func TestConcurrencyIsRefused(t *testing.T) {
	t.Parallel()
	const page = "| name | in |\n|---|---|\n| one | `core/server/a.go` |\n"
	for _, c := range []struct{ text, page, want string }{
		{"func f() { go f() }\n", page, ""},
		{"import \"sync\"\n\nvar mu sync.Mutex\n", page, ""},
		{"func f() { go f() }\n", "", "core/server/a.go starts a goroutine or declares a lock"},
		{"import \"sync\"\n\ntype lane struct{ mu sync.Mutex }\n", "", "core/server/a.go starts a goroutine or declares a lock"},
		{"import \"sync\"\n\nfunc f(wg *sync.WaitGroup) { wg.Go(func() {}) }\n", "", "core/server/a.go starts a goroutine or declares a lock"},
		{"func f() {}\n", page, "lists core/server/a.go, which starts no goroutine"},
	} {
		files := sound()
		files["core/server/a.go"], files[goroutinePage] = "package server\n\n"+c.text, c.page
		files["core/server/server.go"] = "// Package server is lanes.\npackage server\n"
		got := concurrencyBreaches(t, mapFS(files))
		if c.want == "" && len(got) > 0 || c.want != "" && !mentions(got, c.want) {
			t.Errorf("%s: want %q, got %q", c.text, c.want, got)
		}
	}
}
