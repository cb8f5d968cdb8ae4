package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// together is one program of tests with many mutants of a package, as most of a mutant's time is the compiler's and the
// linker's. Each mutant is a copy of its function's body at the body's beginning, taken where the program's file is named
// by the mutant's number; under any other name the program is as without mutants. Children that the program starts from its
// own file are the same mutant.
//
// A function with a label, or whose body declares a parameter anew, would not mean the same in a copy one block deeper: its
// mutants are built alone, and so are those that the compiler refuses here.
type together struct {
	judge   *judge
	folder  string
	overlay string
	number  map[*mutant]int // from 1

	mu       sync.Mutex // held while a program is built
	programs map[string]string
}

const (
	switchName = "mutant-"
	switchVar  = "bellowsMutant"
)

// join puts mutants into one overlay and builds the package's tests with it. Those that it leaves out have no number.
func (j *judge) join(ctx context.Context, p *pack, list []*mutant, own *suite) (*together, error) {
	folder, err := os.MkdirTemp(j.scratch, "together")
	if err != nil {
		return nil, err
	}
	t := &together{judge: j, folder: folder, programs: map[string]string{}}
	list = slices.DeleteFunc(slices.Clone(list), func(m *mutant) bool { return m.alone })
	for len(list) > 0 {
		places, err := t.write(p, list)
		if err != nil {
			return nil, err
		}
		_, out, err := t.program(ctx, own)
		if err == nil {
			return t, nil
		}
		refused := places.mutantsIn(out)
		if ctx.Err() != nil || len(refused) == 0 {
			return nil, fmt.Errorf("%d mutants of %s in one program: %w\n%s", len(list), p.dir, cmp.Or(ctx.Err(), err), out)
		}
		list = slices.DeleteFunc(list, func(m *mutant) bool { return refused[m] })
	}
	t.number = nil
	return t, nil
}

// places are the lines of a file of the joint program, by the mutants whose copies they are.
type places map[string][]span

type span struct {
	m           *mutant
	first, last int
}

var compileAt = regexp.MustCompile(`(?m)^([^ #\n]+\.go):(\d+):\d+: `)

// mutantsIn returns the mutants in whose lines the compiler found something.
func (p places) mutantsIn(out []byte) map[*mutant]bool {
	found := map[*mutant]bool{}
	for _, at := range compileAt.FindAllSubmatch(out, -1) {
		line, _ := strconv.Atoi(string(at[2]))
		for _, s := range p[path.Base(filepath.ToSlash(string(at[1])))] {
			if s.first <= line && line <= s.last {
				found[s.m] = true
			}
		}
	}
	return found
}

// write writes the changed files, and one more with the number.
func (t *together) write(p *pack, list []*mutant) (places, error) {
	t.number = map[*mutant]int{}
	byFile := map[string][]*mutant{}
	for i, m := range list {
		t.number[m] = i + 1
		byFile[m.file] = append(byFile[m.file], m)
	}
	replace, found := map[string]string{}, places{}
	original := func(file string) string { return filepath.Join(t.judge.root, filepath.FromSlash(file)) }
	put := func(file string, text []byte) error {
		changed := filepath.Join(t.folder, path.Base(file))
		replace[original(file)] = changed
		return os.WriteFile(changed, text, 0o600)
	}
	for file, some := range byFile {
		text, spans := t.copies(p.sources[file], some)
		found[path.Base(file)] = spans
		if err := put(file, text); err != nil {
			return nil, err
		}
	}
	err := put(path.Join(p.dir, "bellows_mutant_number.go"), fmt.Appendf(nil, `package %s

import (
	bellowsOS "os"
	bellowsNumber "strconv"
	bellowsStrings "strings"
)

var %s = func() int {
	name, _ := bellowsOS.Executable()
	n, _ := bellowsNumber.Atoi(name[bellowsStrings.LastIndex(name, %q)+%d:])
	return n
}()
`, p.name, switchVar, switchName, len(switchName)))
	text, wrong := json.Marshal(map[string]map[string]string{"Replace": replace})
	t.overlay = filepath.Join(t.folder, "overlay.json")
	return found, errors.Join(err, wrong, os.WriteFile(t.overlay, text, 0o600))
}

// copies returns a file with a copy of a function's body for each mutant, and the lines of each.
func (t *together) copies(source []byte, list []*mutant) ([]byte, []span) {
	var out bytes.Buffer
	var spans []span
	done := 0
	list = slices.SortedFunc(slices.Values(list), func(a, b *mutant) int { return cmp.Compare(a.start, b.start) })
	for _, m := range list {
		out.Write(source[done:m.body.from])
		done = m.body.from
		first := 1 + bytes.Count(out.Bytes(), []byte("\n"))
		fmt.Fprintf(&out, "\nif %s == %d {%s%s%s\n", switchVar, t.number[m], source[m.body.from:m.start], m.text, source[m.end:m.body.to])
		if !m.body.results {
			out.WriteString("return\n")
		}
		out.WriteString("}\n")
		spans = append(spans, span{m: m, first: first, last: bytes.Count(out.Bytes(), []byte("\n"))})
	}
	out.Write(source[done:])
	return out.Bytes(), spans
}

// program returns a suite's program with all mutants, built when it is first asked for.
func (t *together) program(ctx context.Context, s *suite) (string, []byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name := t.programs[s.dir]; name != "" {
		return name, nil, nil
	}
	name := filepath.Join(t.folder, s.file())
	out, err := t.judge.build(ctx, s, name, t.overlay)
	if err == nil {
		t.programs[s.dir] = name
	}
	return name, out, err
}

// programFor returns a suite's program under a name by which it is one mutant.
func (t *together) programFor(ctx context.Context, s *suite, m *mutant, folder string) (string, error) {
	program, out, err := t.program(ctx, s)
	if err != nil {
		return "", fmt.Errorf("%s with mutants: %w\n%s", s.name, err, out)
	}
	name := filepath.Join(folder, s.file()+"-"+switchName+strconv.Itoa(t.number[m]))
	if err := os.Link(program, name); err != nil && !errors.Is(err, os.ErrExist) { // other tests of the same program were first
		return "", err
	}
	return name, nil
}

// body is a function's body in its file, between the braces.
type body struct {
	from, to int
	results  bool // the function returns something
}

// bodyOf returns a function's body, and whether a copy of it one block deeper may mean something else.
func bodyOf(fn *ast.FuncDecl, file *token.File) (body, bool) {
	b := body{from: file.Offset(fn.Body.Lbrace) + 1, to: file.Offset(fn.Body.Rbrace), results: fn.Type.Results != nil}
	mine := map[string]bool{}
	for _, list := range []*ast.FieldList{fn.Recv, fn.Type.Params, fn.Type.Results} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				mine[name.Name] = true
			}
		}
	}
	alone := false
	for _, s := range fn.Body.List {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, x := range a.Lhs {
				id, ok := x.(*ast.Ident)
				alone = alone || ok && id.Name != "_" && mine[id.Name]
			}
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		_, label := n.(*ast.LabeledStmt)
		alone = alone || label
		return true
	})
	return b, alone
}
