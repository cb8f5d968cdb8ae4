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

// newcomerPage is a table of lines that somebody new looks for, the rooms in which they would look, and where the lines are.
const newcomerPage = "docs/newcomer.md"

// firstLooks is how many of its rows are of the review; the others are our own.
const firstLooks = 16

var (
	newcomerRow   = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)
	newcomerPlace = regexp.MustCompile("`([^`]+\\.go)` `([^`]+)`")
	backticked    = regexp.MustCompile("`([^`]+)`")
)

// TestNewcomersFindTheirWay wants every place of the table to be there, and the page to say how many of them are in the rooms where one would look.
func TestNewcomersFindTheirWay(t *testing.T) {
	t.Parallel()
	for _, breach := range newcomerBreaches(t, os.DirFS(".")) {
		t.Error(breach)
	}
}

func newcomerBreaches(t *testing.T, fsys fs.FS) (out []string) {
	t.Helper()
	tr, err := load(fsys, house{rooms: rooms, edges: edges})
	if err != nil {
		t.Fatal(err)
	}
	declared := declaredByFile(tr)
	page := read(fsys, newcomerPage)
	rows := newcomerRow.FindAllStringSubmatch(page, -1)
	rows = rows[min(1, len(rows)):] // without the titles
	found := [2]int{}
	for i, row := range rows {
		rooms, places := backticked.FindAllStringSubmatch(row[2], -1), newcomerPlace.FindAllStringSubmatch(row[3], -1)
		hit := len(places) > 0
		for _, p := range places {
			if !slices.Contains(declared[p[1]], p[2]) {
				out = append(out, fmt.Sprintf("%s: %s has no %s", newcomerPage, p[1], p[2]))
			}
			hit = hit && slices.ContainsFunc(rooms, func(room []string) bool { return strings.HasPrefix(p[1], room[1]+"/") })
		}
		if hit {
			found[min(i/firstLooks, 1)]++
		}
	}
	want := fmt.Sprintf("finds %d of the first %d and %d of the other %d", found[0], min(firstLooks, len(rows)), found[1], max(0, len(rows)-firstLooks))
	if !strings.Contains(page, want) {
		out = append(out, fmt.Sprintf("%s does not say that who looks %s", newcomerPage, want))
	}
	return out
}

// declaredByFile returns the functions, methods and types of each file, methods as Type.Method.
func declaredByFile(tr *tree) map[string][]string {
	declared := map[string][]string{}
	for f := range tr.sources() {
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declared[f.name] = append(declared[f.name], receiverName(d)+d.Name.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						declared[f.name] = append(declared[f.name], s.Name.Name)
					}
				}
			}
		}
	}
	return declared
}

// TestNewcomersWhoAreMisled are told of a place that is not there, and of a room in which it is not.
func TestNewcomersWhoAreMisled(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{
		"| how one is admitted | `core/gate` | `core/gate/a.go` `door.open` |\n\nfinds 1 of the first 1 and 0 of the other 0": "",
		"| how one is admitted | `core` or `x` | `core/gate/a.go` `door` |\n\nfinds 1 of the first 1 and 0 of the other 0":    "",
		"| how one is admitted | `core/gate` | `core/gate/a.go` `shut` |\n\nfinds 1 of the first 1 and 0 of the other 0":      "core/gate/a.go has no shut",
		"| how one is admitted | `core/coord` | `core/gate/a.go` `door` |\n\nfinds 1 of the first 1 and 0 of the other 0":     "finds 0 of the first 1",
		"| how one is admitted | `core/gate` | nobody knows |\n\nfinds 1 of the first 1 and 0 of the other 0":                 "finds 0 of the first 1",
	} {
		got := strings.Join(newcomerBreaches(t, mapFS(map[string]string{
			newcomerPage:     "| looked for | room | where it is |\n|---|---|---|\n" + row + "\n",
			"core/gate/a.go": "// Package gate admits.\npackage gate\n\ntype door struct{}\n\nfunc (d *door) open() {}\n",
		})), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, not %q", row, got, want)
		}
	}
}
