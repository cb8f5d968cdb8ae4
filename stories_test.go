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
				out = append(out, fmt.Sprintf("%s: there is no function %s", storyPage, n[1]))
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
			calls[name] = append(calls[name], "") // one that mentions nothing is there, too
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
		"`gate.first` → `gate.third`":                     "there is no function gate.third",
		"`gate.only` → `gate.first`":                      "there is no function gate.only",
		"nothing":                                         "tells no story",
	} {
		got := strings.Join(storyBreaches(t, tree(page)), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, not %q", page, got, want)
		}
	}
}
