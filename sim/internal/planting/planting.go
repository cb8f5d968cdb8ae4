// Package planting finds code that only planted bugs run, so that neither coverage nor mutants count it. An ordinary
// build does not contain such code.
package planting

import (
	"go/ast"
	"go/token"
)

// Needed says whether a condition cannot be true unless a bug is planted: a call of planted.On, alone or joined to others by &&.
func Needed(condition ast.Expr) bool {
	switch x := condition.(type) {
	case *ast.BinaryExpr:
		return x.Op == token.LAND && (Needed(x.X) || Needed(x.Y))
	case *ast.ParenExpr:
		return Needed(x.X)
	case *ast.CallExpr:
		s, ok := x.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		of, ok := s.X.(*ast.Ident)
		return ok && of.Name == "planted"
	}
	return false
}
