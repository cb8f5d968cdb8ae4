package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"bellows/sim/internal/grid"
	"bellows/sim/internal/schedule"
)

// TestNames refuses a literal that is used as the name of a fault, a fate, a step or the like, and is none: in a comparison, an
// assignment, a switch or a call.
func TestNames(t *testing.T) {
	t.Parallel()
	names := schedule.Names()
	names["Role"], names["role"] = grid.Roles[:], grid.Roles[:]
	names["Moment"], names["moment"] = grid.Moments[:], grid.Moments[:]
	for _, s := range grid.Steps {
		names["Change"] = append(names["Change"], s.Change)
	}
	seen, set := 0, token.NewFileSet()
	check := func(name, value ast.Expr) {
		if s, ok := name.(*ast.SelectorExpr); ok {
			name = s.Sel
		}
		id, named := name.(*ast.Ident)
		literal, ok := value.(*ast.BasicLit)
		if !named || !ok || literal.Kind != token.STRING || names[id.Name] == nil {
			return
		}
		seen++
		if text, err := strconv.Unquote(literal.Value); err != nil || text != "" && !slices.Contains(names[id.Name], text) {
			t.Errorf("%v: %s is none of the names for %s: %q", set.Position(literal.Pos()), literal.Value, id.Name,
				names[id.Name])
		}
	}
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			check(n.X, n.Y)
		case *ast.KeyValueExpr:
			check(n.Key, n.Value)
		case *ast.AssignStmt:
			for i := range min(len(n.Lhs), len(n.Rhs)) {
				check(n.Lhs[i], n.Rhs[i])
			}
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				for _, value := range c.(*ast.CaseClause).List {
					check(n.Tag, value)
				}
			}
		case *ast.CallExpr: // of a function with such a name, the second argument
			if len(n.Args) > 1 {
				check(n.Fun, n.Args[1])
			}
		}
		return true
	}
	for _, pattern := range []string{"*.go", "internal/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			syntax, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(syntax, look)
		}
	}
	if seen < 100 {
		t.Errorf("%d names were looked at", seen)
	}
}

// TestWorldIsSmall bounds the fields of the world and its parts, so that every observer gets a separate package.
func TestWorldIsSmall(t *testing.T) {
	t.Parallel()
	const most = 20
	for _, v := range []any{world{}, observers{}, leader{}, life{}, node{}, faults{}} {
		if s := reflect.TypeOf(v); s.NumField() > most {
			t.Errorf("%v has %d fields, more than %d", s, s.NumField(), most)
		}
	}
}
