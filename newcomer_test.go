package bellows_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"go/ast"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// drawLines is the seed of the lines that TestDrawnLines prints: the hash of a commit. Empty: it prints none.
var drawLines = flag.String("newcomer.draw", "", "print lines of code drawn by this text, then their places")

// linesDrawn is how many lines a blind reading asks for.
const linesDrawn = 16

// newcomerPage is a table of lines that newcomers looked for, and their places.
const newcomerPage = "docs/newcomer.md"

var (
	newcomerRow   = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|$`)
	newcomerPlace = regexp.MustCompile("`([^`]+\\.go)` `([^`]+)`")
	telling       = regexp.MustCompile(`[A-Za-z]{3,}.*[A-Za-z]{3,}.*[A-Za-z]{3,}`)
)

// TestNewcomersFindTheirWay wants each row of the table to name places that exist.
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
	for _, row := range rows {
		places := newcomerPlace.FindAllStringSubmatch(row[2], -1)
		if len(places) == 0 {
			out = append(out, fmt.Sprintf("%s: %s has no place", newcomerPage, strings.TrimSpace(row[1])))
		}
		for _, p := range places {
			if !slices.Contains(declared[p[1]], p[2]) {
				out = append(out, fmt.Sprintf("%s: %s has no %s", newcomerPage, p[1], p[2]))
			}
		}
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

// TestMisleadingRowsAreReported plants a place that does not exist, and a row without a place.
func TestMisleadingRowsAreReported(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{
		"| how one is admitted | `core/gate/a.go` `door.open` |":                     "",
		"| how one is admitted | `core/gate/a.go` `door`, `core/gate/a.go` `shut` |": "core/gate/a.go has no shut",
		"| how one is admitted | `core/gate/b.go` `door` |":                          "core/gate/b.go has no door",
		"| how one is admitted | unknown |":                                          "how one is admitted has no place",
	} {
		got := strings.Join(newcomerBreaches(t, mapFS(map[string]string{
			newcomerPage:     "| looked for | where it is |\n|---|---|\n" + row + "\n",
			"core/gate/a.go": "// Package gate admits.\npackage gate\n\ntype door struct{}\n\nfunc (d *door) open() {}\n",
		})), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, not %q", row, got, want)
		}
	}
}

// drawnLine is a line of code and its place.
type drawnLine struct{ place, text string }

// draw returns lines of code of the tree, without tests, chosen by a seed. A line has three words and 26 bytes at
// least, and is neither a comment nor an import.
func draw(t *testing.T, fsys fs.FS, seed string) []drawnLine {
	t.Helper()
	tr, err := load(fsys, house{rooms: rooms, edges: edges})
	if err != nil {
		t.Fatal(err)
	}
	var all []drawnLine
	for f := range tr.sources() {
		if f.test || f.generated {
			continue
		}
		for i, line := range strings.Split(read(fsys, f.name), "\n") {
			code, _, _ := strings.Cut(strings.TrimSpace(line), "//")
			if len(code) > 25 && telling.MatchString(code) && !strings.HasPrefix(code, `"`) {
				all = append(all, drawnLine{fmt.Sprintf("%s:%d", f.name, i+1), strings.TrimSpace(code)})
			}
		}
	}
	slices.SortFunc(all, func(a, b drawnLine) int { return strings.Compare(a.place, b.place) })
	random := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(seed))))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(linesDrawn, len(all))]
}

// TestDrawnLines draws lines of a small tree: the same for one seed, others for another one, and no comments. With
// -newcomer.draw it prints lines of this tree: the questions first, then the answers.
func TestDrawnLines(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for i := range 100 {
		fmt.Fprintf(&code, "// comment number %d of this file\nvar value%d = \"some text number %d\"\n", i, i, i)
	}
	fsys := mapFS(map[string]string{"core/gate/a.go": "// Package gate admits.\npackage gate\n\n" + code.String()})
	one, two := draw(t, fsys, "one"), draw(t, fsys, "two")
	if len(one) != linesDrawn || !slices.Equal(one, draw(t, fsys, "one")) || slices.Equal(one, two) {
		t.Errorf("drew %v by one seed and %v by another", one, two)
	}
	for _, l := range one {
		if strings.Contains(l.text, "comment") || !strings.HasPrefix(l.place, "core/gate/a.go:") {
			t.Errorf("drew %q at %s", l.text, l.place)
		}
	}
	if *drawLines == "" {
		return
	}
	lines := draw(t, os.DirFS("."), *drawLines)
	for i, l := range lines {
		fmt.Printf("%2d  %s\n", i+1, l.text)
	}
	fmt.Println()
	for i, l := range lines {
		fmt.Printf("%2d  %s\n", i+1, l.place)
	}
}
