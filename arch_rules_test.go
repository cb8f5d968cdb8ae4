package bellows_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// house is the table that a tree is held against.
type house struct {
	rooms []room
	edges []edge
	offenders
}

// source is one parsed Go file.
type source struct {
	name      string // slash path from the root of the tree
	test      bool
	generated bool
	code      int // lines with code on them
	wide      int // lines of more than columnsMax columns
	syntax    *ast.File
}

// pack is the Go files of one folder, whatever their build tags.
type pack struct {
	dir   string
	room  room
	known bool
	files []*source
}

// tree is the repository, with its nested modules.
type tree struct {
	house
	fset  *token.FileSet
	packs []*pack
	asm   []string // assembly files without the mark of a generator
}

// rules are the checks in the order of their sentences; each returns what it refuses.
var rules = []struct {
	name  string
	check func(*tree) []string
}{
	{"unknown", unknownRooms},
	{"floors", floorBreaches},
	{"stale edge", staleEdges},
	{"ceilings", ceilingBreaches},
	{"functions", longFunctions},
	{"types", largeTypes},
	{"columns", wideLines},
	{"files", fileCycles},
	{"docs", missingDocs},
	{"pure", impureRooms},
	{"tests", badTests},
	{"drivers", unsavedDrivers},
	{"names", badNames},
	{"assembly", func(t *tree) []string { return t.asm }},
}

// inspect returns every violation of every rule in the tree at fsys, sorted within its rule.
func inspect(t *testing.T, fsys fs.FS, h house) []string {
	t.Helper()
	tr, err := load(fsys, h)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range rules {
		found := r.check(tr)
		slices.Sort(found)
		all = append(all, slices.Compact(found)...)
	}
	return all
}

// load parses all Go files outside testdata and hidden folders.
func load(fsys fs.FS, h house) (*tree, error) {
	tr := &tree{house: h, fset: token.NewFileSet()}
	byDir := map[string]*pack{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && outside(name):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		return tr.add(fsys, name, byDir)
	})
	for _, p := range byDir {
		tr.packs = append(tr.packs, p)
	}
	slices.SortFunc(tr.packs, func(a, b *pack) int { return cmp.Compare(a.dir, b.dir) })
	return tr, err
}

// outside reports whether the go command passes over the folder in every module.
func outside(dir string) bool {
	base := path.Base(dir)
	return base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

var (
	generatedMark = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	ignoreMark    = regexp.MustCompile(`(?m)^//go:build ignore$`)
)

// add takes one file into its package.
func (tr *tree) add(fsys fs.FS, name string, byDir map[string]*pack) error {
	ext := path.Ext(name)
	if ext != ".go" && ext != ".s" {
		return nil
	}
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if ext == ".s" {
		if !generatedMark.Match(text) {
			tr.asm = append(tr.asm, fmt.Sprintf("%s has no generator's mark: assembly here is generated from Go, so write the generator.", name))
		}
		return nil
	}
	if ignoreMark.Match(text) {
		return nil
	}
	syntax, err := parser.ParseFile(tr.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	p := byDir[dir]
	if p == nil {
		p = &pack{dir: dir}
		p.room, p.known = tr.find(dir)
		byDir[dir] = p
	}
	p.files = append(p.files, &source{
		name: name, syntax: syntax,
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(syntax),
		code:      codeLines(text),
		wide:      wideCount(text),
	})
	return nil
}

// codeLines counts the lines that have more on them than comments and blanks.
func codeLines(text []byte) (n int) {
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	s.Init(file, text, nil, 0)
	last := 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && literal == "\n" { // inserted by the scanner
			continue
		}
		first, end := file.Line(pos), file.Line(pos+token.Pos(max(0, len(literal)-1)))
		n += end - max(first, last+1) + 1
		last = max(last, end)
	}
}

// find returns the entry for dir: its own line first, else that of the closest folder above with "/...". What is
// internal to a package lives in that package's room.
func (h house) find(dir string) (room, bool) {
	best, found := room{}, false
	dir, _, _ = strings.Cut(dir, "/internal/")
	for _, r := range h.rooms {
		if r.path == dir {
			return r, true
		}
		stem, open := strings.CutSuffix(r.path, "...")
		if open && strings.HasPrefix(dir+"/", stem) && len(r.path) > len(best.path) {
			best, found = r, true
		}
	}
	return best, found
}

// position returns the position of n as file:line.
func (tr *tree) position(n ast.Node) string {
	p := tr.fset.Position(n.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

// internal returns the folder of an import of this module.
func internal(spec *ast.ImportSpec) (dir string, ok bool) {
	name := importPath(spec)
	if name == module {
		return ".", true
	}
	return strings.CutPrefix(name, module+"/")
}

func importPath(spec *ast.ImportSpec) string {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return name
}

func unknownRooms(tr *tree) (out []string) {
	for _, p := range tr.packs {
		if !p.known {
			out = append(out, fmt.Sprintf("package %s has no floor: enter it in rooms in arch_test.go, on the floor where its noun belongs.", p.dir))
		}
	}
	return out
}

// floorBreaches holds imports to the floors below, each room to what it sees, and leaves to assembly.
func floorBreaches(tr *tree) (out []string) {
	for _, p := range tr.packs {
		for _, f := range p.files {
			for _, spec := range f.syntax.Imports {
				to, ok := internal(spec)
				if !ok || to == p.dir || !p.known || tr.listed(p, to) {
					continue
				}
				if why := tr.refusal(p, to, f.test); why != "" {
					out = append(out, fmt.Sprintf("%s: %s may not import %s: %s.", tr.position(spec), p.dir, to, why))
				}
			}
		}
	}
	return out
}

func (tr *tree) listed(p *pack, to string) bool {
	return slices.Contains(p.room.also, to) ||
		slices.ContainsFunc(tr.edges, func(e edge) bool { return e.from == p.dir && e.to == to })
}

// refusal says why p may not import to, or nothing. Tests may also look at their own floor and at the fakes below
// it: what they may not do is make a low room depend on a high one.
func (tr *tree) refusal(p *pack, to string, test bool) string {
	target, known := tr.find(to)
	switch {
	case !known:
		return "it has no floor in rooms"
	case strings.Contains(to, "/internal/"):
		return "" // the compiler lets in only those it belongs to
	case target.floor == aside:
		return "it stands aside and nothing imports it"
	case test && slices.Contains(p.room.tests, to):
		return ""
	case target.floor > p.room.floor:
		return fmt.Sprintf("floor %d is above floor %d", target.floor, p.room.floor)
	case test:
		return ""
	case target.fake && !p.room.big && p.room.floor != aside:
		return "it is a fake, for tests and assembly"
	case target.leaf && !p.room.big && p.room.floor != aside:
		return "it is a leaf, which assembly alone imports"
	case target.floor == p.room.floor:
		return "both are on one floor and edges in arch_test.go does not list the pair with a reason"
	case target.floor > p.room.sees:
		return fmt.Sprintf("a room on floor %d of its kind sees floors up to %d only", p.room.floor, p.room.sees)
	}
	return ""
}

// staleEdges refuses exceptions without a reason and those that no file uses.
func staleEdges(tr *tree) (out []string) {
	for _, e := range tr.edges {
		if e.why == "" {
			out = append(out, fmt.Sprintf("the edge %s to %s has no reason: say why in edges.", e.from, e.to))
		}
		if !tr.uses(e) {
			out = append(out, fmt.Sprintf("the edge %s to %s is not used: remove it from edges.", e.from, e.to))
		}
	}
	return out
}

func (tr *tree) uses(e edge) bool {
	for _, p := range tr.packs {
		if p.dir == e.from && slices.Contains(p.imports(), e.to) {
			return true
		}
	}
	return false
}

// imports returns the distinct packages of this module that the package needs outside its tests.
func (p *pack) imports() []string {
	var all []string
	for _, f := range p.files {
		for _, spec := range f.syntax.Imports {
			if to, ok := internal(spec); ok && !f.test {
				all = append(all, to)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func ceilingBreaches(tr *tree) (out []string) {
	seen := map[string]bool{}
	for _, p := range tr.packs {
		seen[p.dir] = true
		code, names := 0, map[string]bool{}
		for _, f := range p.files {
			if f.test || f.generated {
				continue
			}
			code += f.code
			for _, e := range exported(f.syntax) {
				if !e.method {
					names[e.name] = true
				}
			}
		}
		out = append(out, judge(tr.code, p.dir, code, codeMax, "lines of code", "a noun is missing, give it a room")...)
		if len(names) > exportedMax {
			out = append(out, fmt.Sprintf("package %s exports %d names, more than %d: hide or divide.", p.dir, len(names), exportedMax))
		}
		most := importsMax
		if p.room.floor == actors {
			most = roleMax
		}
		if n := len(p.imports()); n > most && !p.room.big {
			out = append(out, fmt.Sprintf("package %s imports %d packages of the module, more than %d: it knows too much.", p.dir, n, most))
		}
	}
	return append(out, unseen(tr.code, seen)...)
}

func longFunctions(tr *tree) (out []string) {
	for f := range tr.sources() {
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || f.generated {
				continue
			}
			n := tr.fset.Position(fn.End()).Line - tr.fset.Position(fn.Type.Pos()).Line + 1
			if n > funcMax {
				out = append(out, fmt.Sprintf("%s: function %s has %d lines, more than %d: divide it.", tr.position(fn.Type), fn.Name.Name, n, funcMax))
			}
		}
	}
	return out
}

// sources yields every file of the tree.
func (tr *tree) sources() func(yield func(*source) bool) {
	return func(yield func(*source) bool) {
		for _, p := range tr.packs {
			for _, f := range p.files {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// missingDocs wants a package comment on every package and a doc comment on every exported name.
func missingDocs(tr *tree) (out []string) {
	for _, p := range tr.packs {
		code, doc := 0, false
		for _, f := range p.files {
			if f.test {
				continue
			}
			code++
			doc = doc || f.syntax.Doc != nil
			for _, e := range exported(f.syntax) {
				if !e.doc && !f.generated && f.syntax.Name.Name != "main" {
					out = append(out, fmt.Sprintf("%s: %s is exported without a doc comment: say what it is, with units and errors.", tr.position(e.node), e.name))
				}
			}
		}
		if code > 0 && !doc {
			out = append(out, fmt.Sprintf("package %s has no package comment: teach the caller's duties in order.", p.dir))
		}
	}
	return out
}

// export is one exported name at the top of a file.
type export struct {
	name   string
	node   ast.Node
	doc    bool
	method bool
}

// wellKnown methods are documented by the interfaces of the standard library that they are for.
var wellKnown = []string{"Error", "Unwrap", "String"}

// exported lists the exported names of a file, with the exported methods of exported types.
func exported(f *ast.File) (out []export) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			method := d.Recv != nil
			if d.Name.IsExported() && (!method || receiverExported(d.Recv) && !slices.Contains(wellKnown, d.Name.Name)) {
				out = append(out, export{d.Name.Name, d.Type, d.Doc != nil, method})
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				out = append(out, exportedSpec(d, s)...)
			}
		}
	}
	return out
}

// exportedSpec lists the names of one constant, variable or type. A comment on a group speaks for the group.
func exportedSpec(d *ast.GenDecl, s ast.Spec) (out []export) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			out = append(out, export{s.Name.Name, s, d.Doc != nil || s.Doc != nil || s.Comment != nil, false})
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() {
				out = append(out, export{n.Name, n, d.Doc != nil || s.Doc != nil || s.Comment != nil, false})
			}
		}
	}
	return out
}

func receiverExported(recv *ast.FieldList) bool {
	t := recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// clockCalls are the functions of package time that read or wait for the clock.
var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// impureImports open something, or return what no seed decides.
var impureImports = regexp.MustCompile(`^(os|os/.*|net|net/(http|rpc|smtp|textproto)(/.*)?|syscall|io/ioutil|crypto/rand|log|log/.*|golang\.org/x/sys/(unix|windows))$`)

// impureRooms keeps goroutines, the clock and input/output off floors 0, 2 and 3, and off floor 1 outside its fakes. Actors have nothing of
// package time: whatever they know of it is a number that a step was given.
func impureRooms(tr *tree) (out []string) {
	for _, p := range tr.packs {
		if !p.known || p.room.floor > 3 || p.room.fake {
			continue
		}
		for _, f := range p.files {
			if !f.test {
				out = append(out, tr.impurities(p, f)...)
			}
		}
	}
	return out
}

func (tr *tree) impurities(p *pack, f *source) (out []string) {
	for _, spec := range f.syntax.Imports {
		if name := importPath(spec); impureImports.MatchString(name) || p.room.floor == 3 && name == "time" {
			out = append(out, fmt.Sprintf("%s: package %s on floor %d imports %s: what decides does no input or output, an actor above does.", tr.position(spec), p.dir, p.room.floor, name))
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if _, ok := n.(*ast.GoStmt); ok || startsByGroup(n) {
			out = append(out, fmt.Sprintf("%s: package %s on floor %d starts a goroutine: step functions are called, they do not run.", tr.position(n), p.dir, p.room.floor))
		}
		if name := f.call(n, "time"); slices.Contains(clockCalls, name) {
			out = append(out, fmt.Sprintf("%s: package %s on floor %d calls time.%s: take the time as an argument.", tr.position(n), p.dir, p.room.floor, name))
		}
		return true
	})
	return out
}

// startsByGroup says whether n is a call such as wg.Go(func() { ... }).
func startsByGroup(n ast.Node) bool {
	c, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Go" && len(c.Args) == 1
}

// call returns the name that n selects from the imported package, or nothing.
func (f *source) call(n ast.Node, imported string) string {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, spec := range f.syntax.Imports {
		if importPath(spec) != imported {
			continue
		}
		local := path.Base(imported)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if id.Name == local {
			return sel.Sel.Name
		}
	}
	return ""
}

// badTests refuses tests that wait for the wall clock and tests that leave themselves out.
func badTests(tr *tree) (out []string) {
	for f := range tr.sources() {
		if !f.test {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if f.call(n, "time") == "Sleep" {
				out = append(out, fmt.Sprintf("%s: a test sleeps: wait for the event, or use testing/synctest.", tr.position(n)))
			}
			if skips(n) {
				out = append(out, fmt.Sprintf("%s: a test skips itself: a test that may not run proves nothing.", tr.position(n)))
			}
			return true
		})
	}
	return out
}

func skips(n ast.Node) bool {
	c, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains([]string{"t", "b", "f", "tb"}, id.Name) &&
		slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name)
}

// unsavedDrivers refuses a driver that no test of its package saves and restores after every record: a new controller
// could not continue with it.
func unsavedDrivers(tr *tree) (out []string) {
	for _, p := range tr.packs {
		var driver ast.Node
		tried := p.room.fake
		for _, f := range p.files {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if !f.test && n.Recv != nil && n.Name.Name == "DispatchInitialTasks" {
						driver = n
					}
				case *ast.SelectorExpr:
					tried = tried || f.test && n.Sel.Name == "CanBeSaved"
				}
				return true
			})
		}
		if driver != nil && !tried {
			out = append(out, fmt.Sprintf("%s: package %s has a driver, and no test of it calls traintest.CanBeSaved.", tr.position(driver), p.dir))
		}
	}
	return out
}

var (
	junkName = regexp.MustCompile(`^(utils?|common|misc|base|helpers?|shared|lib|[a-z])$`)
	twinName = regexp.MustCompile(`_(v[0-9]+|old|new|bak)(_test)?\.go$`)
)

// badNames refuses drawers for anything, one-letter packages, and twins such as lane_v2.go beside lane.go.
func badNames(tr *tree) (out []string) {
	for _, p := range tr.packs {
		names := []string{path.Base(p.dir)}
		for _, f := range p.files {
			names = append(names, strings.TrimSuffix(f.syntax.Name.Name, "_test"))
			if twinName.MatchString(f.name) {
				out = append(out, fmt.Sprintf("%s is a twin by its name: change the first one, history keeps the old.", f.name))
			}
		}
		for _, n := range names {
			if p.dir != "." && junkName.MatchString(n) {
				out = append(out, fmt.Sprintf("package %s is called %s, which is not a noun of the domain.", p.dir, n))
			}
		}
	}
	return out
}
