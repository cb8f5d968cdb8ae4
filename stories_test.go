package bellows_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// storyPage tells how things go, as chains of functions: `a.T.F` → `b.G` means that F calls G.
const storyPage = "docs/1-architecture.md"

var (
	storyChain = regexp.MustCompile("`[a-z]+(?:\\.\\w+)+`(?:\\s+→\\s+`[a-z]+(?:\\.\\w+)+`)+")
	storyName  = regexp.MustCompile("`([a-z]+(?:\\.\\w+)+)`")
)

// TestStoriesAreTrue wants every function of a chain to be there, and to call the next.
func TestStoriesAreTrue(t *testing.T) {
	t.Parallel()
	for _, breach := range storyBreaches(t, os.DirFS(".")) {
		t.Error(breach)
	}
}

func storyBreaches(t *testing.T, fsys fs.FS) (out []string) {
	tr, err := load(fsys, house{rooms: rooms, edges: edges})
	if err != nil {
		t.Fatal(err)
	}
	calls := callsByName(tr)
	chains := storyChain.FindAllString(read(fsys, storyPage), -1)
	if len(chains) == 0 {
		return []string{storyPage + " tells no story: " + storyChain.String()}
	}
	for _, chain := range chains {
		names := storyName.FindAllStringSubmatch(chain, -1)
		for i, n := range names {
			called, there := calls[n[1]]
			if !there {
				out = append(out, fmt.Sprintf("%s: no function is called %s", storyPage, n[1]))
				continue
			}
			if i+1 == len(names) {
				break
			}
			next := names[i+1][1]
			if last := next[strings.LastIndex(next, ".")+1:]; !slices.Contains(called, last) {
				out = append(out, fmt.Sprintf("%s: %s does not call %s", storyPage, n[1], next))
			}
		}
	}
	return out
}

// callsByName returns the names that each function of the tree mentions in its body, by package.Function or
// package.Type.Method. Mentions and not calls, since a function may be handed on.
func callsByName(tr *tree) map[string][]string {
	calls := map[string][]string{}
	for f := range tr.sources() {
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			name := f.syntax.Name.Name + "." + receiverName(fn) + fn.Name.Name
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					calls[name] = append(calls[name], id.Name)
				}
				return true
			})
			calls[name] = append(calls[name], "") // also for one that mentions nothing
		}
	}
	return calls
}

// receiverName returns the type of a method and a dot, or nothing.
func receiverName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name + "."
	case *ast.IndexExpr:
		return of.X.(*ast.Ident).Name + "."
	}
	return ""
}

// The story of a push is the one that a newcomer reads first. Its text is between these two titles.
const (
	pushStory = "**A push.**"
	nextStory = "**A commit.**"

	pushFunctionsMax = 25
	pushFilesMax     = 12
)

var pushFigures = regexp.MustCompile(`(\d+) functions of (\d+) files`)

// TestPushEntersEachRoomOnce counts the functions of the story of a push, and the files in which they are. An arrow between
// two packages enters the second: each package is entered by one arrow.
func TestPushEntersEachRoomOnce(t *testing.T) {
	t.Parallel()
	fsys := os.DirFS(".")
	tr, err := load(fsys, house{rooms: rooms, edges: edges})
	if err != nil {
		t.Fatal(err)
	}
	_, story, _ := strings.Cut(read(fsys, storyPage), pushStory)
	story, _, _ = strings.Cut(story, nextStory)
	functions, files, entries := storyFigures(tr, story)
	if functions > pushFunctionsMax || files > pushFilesMax {
		t.Errorf("a push is %d functions of %d files, more than %d of %d", functions, files, pushFunctionsMax, pushFilesMax)
	}
	if want := fmt.Sprintf("%d functions of %d files", functions, files); pushFigures.FindString(story) != want {
		t.Errorf("%s: it says %q, not %q", storyPage, pushFigures.FindString(story), want)
	}
	for room, by := range entries {
		if len(by) > 1 {
			t.Errorf("%s: a push enters %s %d times: %v", storyPage, room, len(by), by)
		}
	}
}

// storyFigures counts the functions that a story names and their files, and returns by package the arrows that enter it.
func storyFigures(tr *tree, story string) (functions, files int, entries map[string][]string) {
	fileOf, named, in := filesByName(tr), map[string]bool{}, map[string]bool{}
	for _, n := range storyName.FindAllStringSubmatch(story, -1) {
		if file, there := fileOf[n[1]]; there {
			named[n[1]], in[file] = true, true
		}
	}
	entries = map[string][]string{}
	for _, chain := range storyChain.FindAllString(story, -1) {
		before := ""
		for _, n := range storyName.FindAllStringSubmatch(chain, -1) {
			name := n[1]
			from, _, _ := strings.Cut(before, ".")
			to, _, _ := strings.Cut(name, ".")
			if arrow := before + " → " + name; before != "" && from != to && !slices.Contains(entries[to], arrow) {
				entries[to] = append(entries[to], arrow)
			}
			before = name
		}
	}
	return len(named), len(in), entries
}

// filesByName returns the file of each function of the tree, by package.Function or package.Type.Method.
func filesByName(tr *tree) map[string]string {
	files := map[string]string{}
	for f := range tr.sources() {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !f.test {
				files[f.syntax.Name.Name+"."+receiverName(fn)+fn.Name.Name] = f.name
			}
		}
	}
	return files
}

// TestStoriesAreRefused tells what is not so.
func TestStoriesAreRefused(t *testing.T) {
	t.Parallel()
	tree := func(page string) fs.FS {
		return mapFS(map[string]string{
			storyPage:        page,
			"gate/a.go":      "// Package gate admits.\npackage gate\n\nfunc first() { second() }\n\nfunc second() {}\n\ntype door struct{}\n\nfunc (d *door) open() { first() }\n",
			"gate/b_test.go": "package gate\n\nfunc only() { first() }\n",
		})
	}
	for page, want := range map[string]string{
		"`gate.first` → `gate.second`":                    "",
		"`gate.door.open` → `gate.first` → `gate.second`": "",
		"`gate.second` → `gate.first`":                    "gate.second does not call gate.first",
		"`gate.first` → `gate.third`":                     "no function is called gate.third",
		"`gate.only` → `gate.first`":                      "no function is called gate.only",
		"nothing":                                         "tells no story",
	} {
		got := strings.Join(storyBreaches(t, tree(page)), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, not %q", page, got, want)
		}
	}
}
