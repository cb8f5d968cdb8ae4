package bellows_test

import (
	"fmt"
	"go/ast"
	"strings"
	"unicode/utf8"
)

// Ceilings of the protocol, on floors limitsFrom to limitsTo. A type with more fields or methods has several jobs, and a wider
// line hides its end.
const (
	limitsFrom = 2
	limitsTo   = 4
	fieldsMax  = 20  // names of fields in a struct; an embedded type is one
	methodsMax = 45  // methods of a type, without tests
	columnsMax = 120 // of a line, a tab being four
)

// offenders are what was above a ceiling on 2026-11-28, with its figure. A figure may only become smaller; an entry that
// is within its ceiling is a failure.
type offenders struct {
	code    map[string]int // package: lines of code
	fields  map[string]int // package.type
	methods map[string]int // package.type
	columns map[string]int // package: lines that are too wide, tests included
	cycles  map[string]int // package: calls between files that are part of a cycle
}

// judge compares a figure with its ceiling or, of an offender, with the figure in the list, and returns one sentence or none.
func judge(list map[string]int, name string, n, ceiling int, what, advice string) []string {
	most, onList := list[name]
	switch {
	case onList && n <= ceiling:
		return []string{fmt.Sprintf("%s has %d %s, within the ceiling of %d: take it off the list of offenders.", name, n, what, ceiling)}
	case n > max(most, ceiling):
		return []string{fmt.Sprintf("%s has %d %s, more than %d: %s.", name, n, what, max(most, ceiling), advice)}
	}
	return nil
}

// limited reports whether the ceilings of the protocol hold for a package.
func (p *pack) limited() bool {
	return p.known && p.room.floor >= limitsFrom && p.room.floor <= limitsTo
}

// largeTypes counts the fields and methods of each type.
func largeTypes(tr *tree) (out []string) {
	seen := map[string]bool{}
	for _, p := range tr.packs {
		if !p.limited() {
			continue
		}
		fields, methods := p.sizes()
		for name, n := range fields {
			out = append(out, judge(tr.fields, name, n, fieldsMax, "fields", "divide it into types that each keep one invariant")...)
			seen[name] = true
		}
		for name, n := range methods {
			out = append(out, judge(tr.methods, name, n, methodsMax, "methods", "give some of them a type of their own")...)
			seen[name] = true
		}
	}
	return append(out, unseen(tr.fields, seen)...)
}

// sizes counts the fields of each struct of the package and the methods of each type, by package.type.
func (p *pack) sizes() (fields, methods map[string]int) {
	fields, methods = map[string]int{}, map[string]int{}
	for _, f := range p.files {
		if f.test || f.generated {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[p.dir+"."+receiver(d)]++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok {
						if s, ok := t.Type.(*ast.StructType); ok {
							fields[p.dir+"."+t.Name.Name] = s.Fields.NumFields()
						}
					}
				}
			}
		}
	}
	return fields, methods
}

// receiver returns the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	switch g := t.(type) {
	case *ast.IndexExpr:
		t = g.X
	case *ast.IndexListExpr:
		t = g.X
	}
	name, _ := t.(*ast.Ident)
	return name.Name
}

// wideLines counts the lines of each package that are wider than columnsMax.
func wideLines(tr *tree) (out []string) {
	seen := map[string]bool{}
	for _, p := range tr.packs {
		if !p.limited() {
			continue
		}
		n := 0
		for _, f := range p.files {
			if !f.generated {
				n += f.wide
			}
		}
		seen[p.dir] = true
		out = append(out, judge(tr.columns, p.dir, n, 0, fmt.Sprintf("lines of more than %d columns", columnsMax), "break them")...)
	}
	return append(out, unseen(tr.columns, seen)...)
}

// unseen names the offenders that are gone.
func unseen(list map[string]int, seen map[string]bool) (out []string) {
	for name := range list {
		if !seen[name] {
			out = append(out, fmt.Sprintf("there is no %s: take it off the list of offenders.", name))
		}
	}
	return out
}

// wideCount counts the lines of a file that are wider than columnsMax.
func wideCount(text []byte) (n int) {
	for line := range strings.SplitSeq(string(text), "\n") {
		if utf8.RuneCountInString(line)+3*strings.Count(line, "\t") > columnsMax {
			n++
		}
	}
	return n
}

// exempt are the offenders of this tree.
var exempt = offenders{
	code: map[string]int{
		"app/linear":          3179,
		"app/mf":              3233,
		"cli/internal/verbs":  3445,
		"data":                3242,
		"data/internal/lines": 3410,
		"link/wire":           2813,
	},
	fields: map[string]int{
		"data.Options":                    41,
		"data.reader":                     24,
		"data/internal/columns.Detection": 43,
		"data/internal/layout.Layout":     25,
		"data/internal/layout.Options":    28,
		"data/internal/layout.Reading":    23,
		"data/internal/parquet.pages":     29,
	},
	methods: map[string]int{
		"core/validate.Checker":  55,
		"policy/reshape.Machine": 51,
	},
	cycles: map[string]int{
		"core/partition":        12,
		"data":                  38,
		"data/demo":             4,
		"data/internal/frames":  8,
		"data/internal/layout":  15,
		"data/internal/lines":   32,
		"data/internal/parquet": 4,
		"data/internal/source":  2,
		"link/session":          2,
		"model":                 2,
		"node/archive":          7,
		"policy/reshape":        6,
		"policy/shape":          2,
		"train":                 5,
	},
	columns: map[string]int{
		"core":                   9,
		"core/checkpoint":        56,
		"core/client":            158,
		"core/coord":             133,
		"core/delta":             10,
		"core/gate":              12,
		"core/handoff":           42,
		"core/heartbeat":         28,
		"core/join":              31,
		"core/keys":              4,
		"core/liveness":          10,
		"core/recordlog":         14,
		"core/route":             11,
		"core/rowstore":          32,
		"core/rule":              16,
		"core/server":            202,
		"core/shell":             45,
		"core/slots":             15,
		"core/validate":          157,
		"data":                   76,
		"data/internal/bags":     10,
		"data/internal/foreign":  1,
		"data/internal/idx":      1,
		"data/internal/lines":    59,
		"data/internal/notation": 2,
		"data/internal/parquet":  25,
		"link/session":           20,
		"model":                  1,
		"node/archive":           4,
		"policy/plan":            27,
		"policy/reshape":         68,
		"policy/shape":           29,
		"train":                  1,
	},
}
