package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"bellows/sim/internal/planting"
)

// mutant is one small change of one file, made in its text: lines keep their numbers.
type mutant struct {
	file     string // slash path from the root of the tree
	function string // with its receiver: Client.flush
	operator string // what the change is: "< to <="
	line     string // of the source, where the change begins; trimmed
	nth      int    // which of the mutants that are the same by all of the above, from 1

	at         int // line number, for people; no part of the identity
	start, end int // bytes of the file
	text       string

	body  body // of its function
	alone bool // a copy of the body would not mean the same
}

// id names a mutant for as long as its own line stands: edits elsewhere do not change it.
func (m *mutant) id() string {
	id := fmt.Sprintf("%s: %s: %s: `%s`", m.file, m.function, m.operator, m.line)
	if m.nth > 1 {
		id += " #" + strconv.Itoa(m.nth)
	}
	return id
}

// apply returns the file with the change.
func (m *mutant) apply(source []byte) []byte {
	return slices.Concat(source[:m.start], []byte(m.text), source[m.end:])
}

// diff returns the change as a person reads it: the lines before and after.
func (m *mutant) diff(source []byte) string {
	from := bytes.LastIndexByte(source[:m.start], '\n') + 1
	to := len(source)
	if i := bytes.IndexByte(source[m.end:], '\n'); i >= 0 {
		to = m.end + i
	}
	var b strings.Builder
	for line := range strings.SplitSeq(string(source[from:to]), "\n") {
		b.WriteString("-" + line + "\n")
	}
	for line := range strings.SplitSeq(string(source[from:m.start])+m.text+string(source[m.end:to]), "\n") {
		b.WriteString("+" + line + "\n")
	}
	return b.String()
}

// finder collects the mutants of one file.
type finder struct {
	name     string
	source   []byte
	file     *token.File
	function string
	found    []*mutant
}

// mutants returns all small changes of a file that its syntax offers, in order of their places. Some do not compile.
func mutants(name string, source []byte) ([]*mutant, error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{name: name, source: source, file: set.File(syntax.FileStart)}
	for _, d := range syntax.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !forPeople(fn) {
			f.function = functionName(fn)
			before := len(f.found)
			f.early(fn)
			ast.Inspect(fn.Body, f.node)
			b, alone := bodyOf(fn, f.file)
			for _, m := range f.found[before:] {
				m.body, m.alone = b, alone
			}
		}
	}
	slices.SortStableFunc(f.found, func(a, b *mutant) int { return cmp.Compare(a.start, b.start) })
	seen := map[string]int{}
	for _, m := range f.found {
		key := m.id()
		seen[key]++
		m.nth = seen[key]
	}
	return f.found, nil
}

// forPeople says whether a function only words something: its changes are matters of taste.
func forPeople(fn *ast.FuncDecl) bool {
	return fn.Recv != nil && slices.Contains([]string{"String", "Error", "GoString"}, fn.Name.Name)
}

func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// change enters the mutant that puts text in the place from start to end.
func (f *finder) change(operator string, start, end token.Pos, text string) {
	from := f.file.Offset(start)
	begin := bytes.LastIndexByte(f.source[:from], '\n') + 1
	line, _, _ := bytes.Cut(f.source[begin:], []byte("\n"))
	f.found = append(f.found, &mutant{
		file: f.name, function: f.function, operator: operator, line: string(bytes.TrimSpace(line)),
		at: f.file.Line(start), start: from, end: f.file.Offset(end), text: text,
	})
}

func (f *finder) text(n ast.Node) string {
	return string(f.source[f.file.Offset(n.Pos()):f.file.Offset(n.End())])
}

// skip enters the mutant without a statement. What the statement uses stays used, so that it compiles.
func (f *finder) skip(what string, s ast.Stmt) {
	f.change(what, s.Pos(), s.End(), "if false { "+f.text(s)+" }")
}

// early enters the mutant whose function returns at once, with zero values.
func (f *finder) early(fn *ast.FuncDecl) {
	var zeros []string
	if fn.Type.Results != nil {
		for _, r := range fn.Type.Results.List {
			zero := "*new(" + f.text(r.Type) + ")"
			zeros = append(zeros, slices.Repeat([]string{zero}, max(1, len(r.Names)))...)
		}
	}
	if len(fn.Body.List) > 0 {
		at := fn.Body.List[0].Pos()
		f.change("return at once", at, at, strings.TrimSpace("if true { return "+strings.Join(zeros, ", "))+" }; ")
	}
}

// node enters the mutants of one node, and says whether to go on below it.
func (f *finder) node(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.BlockStmt:
		f.statements(x.List)
	case *ast.CaseClause:
		f.statements(x.Body)
	case *ast.CommClause:
		f.statements(x.Body)
	case *ast.IfStmt:
		f.condition(x.Cond)
		if planting.Needed(x.Cond) { // what only a planted bug does is not there in an ordinary build
			if x.Else != nil {
				ast.Inspect(x.Else, f.node)
			}
			return false
		}
	case *ast.ForStmt:
		if x.Cond != nil {
			f.condition(x.Cond)
		}
	case *ast.BinaryExpr:
		f.binary(x)
	case *ast.SliceExpr:
		f.bounds(x)
	case *ast.BasicLit:
		f.literal(x)
	case *ast.Ident:
		if other, ok := swapped[x.Name]; ok {
			f.change(x.Name+" to "+other, x.Pos(), x.End(), other)
		}
	case *ast.CallExpr:
		return !planting.Needed(x) && !isBuiltin(x, "panic") && !isBuiltin(x, "make")
	case *ast.GenDecl:
		return x.Tok != token.CONST
	case *ast.ArrayType:
		return false
	case *ast.SelectorExpr:
		ast.Inspect(x.X, f.node) // not the name behind the dot
		return false
	}
	return true
}

// swapped are names that are as good as their opposites to the compiler.
var swapped = map[string]string{"true": "false", "false": "true", "min": "max", "max": "min"}

func isBuiltin(c *ast.CallExpr, name string) bool {
	id, ok := c.Fun.(*ast.Ident)
	return ok && id.Name == name
}

// statements enters the mutants that leave one statement of a list out.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch x := s.(type) {
		case *ast.ExprStmt:
			if c, ok := x.X.(*ast.CallExpr); ok && !isBuiltin(c, "panic") {
				f.skip("call skipped", x)
			}
		case *ast.DeferStmt:
			f.skip("defer skipped", x)
		case *ast.SendStmt:
			f.skip("send skipped", x)
		case *ast.IncDecStmt:
			f.skip("step skipped", x)
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE && !isBlank(x.Lhs) {
				f.skip("assignment skipped", x)
			}
		case *ast.BranchStmt:
			if x.Tok == token.BREAK || x.Tok == token.CONTINUE {
				f.skip(x.Tok.String()+" skipped", x)
			}
		case *ast.ReturnStmt:
			if len(x.Results) == 0 {
				f.skip("return skipped", x)
			}
		}
	}
}

func isBlank(list []ast.Expr) bool {
	return !slices.ContainsFunc(list, func(x ast.Expr) bool {
		id, ok := x.(*ast.Ident)
		return !ok || id.Name != "_"
	})
}

// condition enters the opposite of a condition that is no comparison: those have it among their operators.
func (f *finder) condition(x ast.Expr) {
	if b, ok := x.(*ast.BinaryExpr); ok && len(turned[b.Op]) > 0 && b.Op != token.LAND && b.Op != token.LOR {
		return
	}
	if planting.Needed(x) {
		return
	}
	f.change("condition negated", x.Pos(), x.End(), "!("+f.text(x)+")")
}

// turned are the operators that stand in for another: the opposite, and what differs at the bound alone.
var turned = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD},
}

func (f *finder) binary(x *ast.BinaryExpr) {
	for _, other := range turned[x.Op] {
		f.change(x.Op.String()+" to "+other.String(), x.OpPos, x.OpPos+token.Pos(len(x.Op.String())), other.String())
	}
}

// bounds moves the ends of a slice by one.
func (f *finder) bounds(x *ast.SliceExpr) {
	if x.Low != nil {
		f.change("lower bound up by one", x.Low.Pos(), x.Low.End(), "("+f.text(x.Low)+")+1")
	}
	if zero, ok := x.High.(*ast.BasicLit); x.High != nil && !(ok && zero.Value == "0") { // no Go has -1 for a bound
		f.change("upper bound down by one", x.High.Pos(), x.High.End(), "("+f.text(x.High)+")-1")
	}
}

func (f *finder) literal(x *ast.BasicLit) {
	if x.Kind != token.INT {
		return
	}
	other := map[string]string{"0": "1", "1": "0"}[x.Value]
	if other != "" {
		f.change(x.Value+" to "+other, x.Pos(), x.End(), other)
	}
}
