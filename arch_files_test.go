package bellows_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// arrow says that a function of one file mentions a function or method of another file of its package.
type arrow struct{ from, to string }

// fileCycles counts the arrows between files of a package that are part of a cycle. Files call downwards: if there is no
// cycle, they have an order in which each calls only those before it, and reading down never leads back.
func fileCycles(tr *tree) (out []string) {
	seen := map[string]bool{}
	for _, p := range tr.packs {
		if !p.limited() {
			continue
		}
		n, cycle := p.cycles(tr.fset)
		out = append(out, judge(tr.cycles, p.dir, n, 0, "calls between files in a cycle",
			"move what "+strings.Join(cycle, ", ")+" share below them")...)
		seen[p.dir] = true
	}
	return append(out, unseen(tr.cycles, seen)...)
}

// cycles counts the arrows between files of the package that are part of a cycle, and names the files of the first.
func (p *pack) cycles(fset *token.FileSet) (n int, first []string) {
	arrows := p.arrows(fset)
	reached := map[string]map[string]bool{} // by file: all that it reaches
	for a := range arrows {
		if reached[a.from] == nil {
			reached[a.from] = map[string]bool{}
		}
		reached[a.from][a.to] = true
	}
	files := slices.Sorted(maps.Keys(reached))
	for _, via := range files {
		for _, from := range files {
			if reached[from][via] {
				maps.Copy(reached[from], reached[via])
			}
		}
	}
	for a := range arrows {
		if reached[a.to][a.from] {
			n++
		}
	}
	for _, f := range files {
		if !reached[f][f] {
			continue
		}
		for _, o := range files {
			if reached[f][o] && reached[o][f] {
				first = append(first, path.Base(o))
			}
		}
		break
	}
	return n, first
}

// arrows finds the calls between files of the package. Other packages are not read: what a name of theirs stands for is
// unknown, which hides no function of this package but one that is called on a value that another package returns.
func (p *pack) arrows(fset *token.FileSet) map[arrow]bool {
	var files []*ast.File
	for _, f := range p.files {
		if !f.test {
			files = append(files, f.syntax)
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: unread{}, Error: func(error) {}}
	pkg, _ := config.Check(p.dir, fset, files, info)
	at := func(pos token.Pos) string { return fset.Position(pos).Filename }
	arrows := map[arrow]bool{}
	for id, object := range info.Uses {
		fn, ok := object.(*types.Func)
		if !ok || fn.Pkg() != pkg {
			continue
		}
		if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			continue
		}
		if a := (arrow{at(id.Pos()), at(fn.Pos())}); a.from != a.to {
			arrows[a] = true
		}
	}
	return arrows
}

// unread imports packages as empty ones.
type unread struct{}

func (unread) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// TestFilesThatCallEachOtherAreCounted adds two files to a sound tree.
func TestFilesThatCallEachOtherAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, low, high, want string }{
		{"downwards", "func low() {}", "func high() { low() }", ""},
		{"by a function", "func low() { high() }", "func high() { low() }", "table has 2 calls between files in a cycle"},
		{"by a method", "type a struct{}\n\nfunc (a) low(x b) { x.high() }", "type b struct{}\n\nfunc (b) high() { a{}.low(b{}) }",
			"move what high.go, low.go share below them"},
		{"by an interface", "type a interface{ high() }\n\nfunc low(x a) { x.high() }", "type b struct{}\n\nfunc (b) high() { low(b{}) }", ""},
	} {
		files := sound()
		files["table/low.go"], files["table/high.go"] = "package table\n\n"+c.low+"\n", "package table\n\n"+c.high+"\n"
		got := inspect(t, mapFS(files), house{rooms: rooms, edges: soundEdges})
		if c.want == "" && len(got) > 0 || c.want != "" && !mentions(got, c.want) {
			t.Errorf("%s: want %q, got %q", c.what, c.want, got)
		}
	}
}
