package bellows_test

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const (
	glossaryPage  = "docs/glossary.md"
	ceilingsFile  = "testdata/retired-words.txt"
	retiredAnchor = "\n## Words that are retired\n"
)

var (
	lowerCeilings = flag.Bool("glossary.lower", false, "lower the ceilings of retired words to the counts of the tree")
	retiredRow    = regexp.MustCompile(`(?m)^\| ([a-z, ]+) \| [^|]+ \|$`)
)

// wordUse is a retired word in the declarations of a package.
type wordUse struct{ word, dir string }

// TestRetiredWordsAreNotDeclared compares declarations that use a retired word with the ceiling of each word and package.
// After a renaming, go test . -run TestRetiredWords -glossary.lower writes lower ceilings; it never raises one.
func TestRetiredWordsAreNotDeclared(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(".")
	counts := retiredUses(t, tree)
	ceilings, err := readCeilings(read(tree, ceilingsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range retiredBreaches(counts, ceilings) {
		t.Error(breach)
	}
	if !*lowerCeilings || t.Failed() {
		return
	}
	if err := os.WriteFile(ceilingsFile, []byte(writeCeilings(counts)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// retiredUses counts the declarations of each package that have a retired word of the glossary in their name.
func retiredUses(t *testing.T, fsys fs.FS) map[wordUse]int {
	t.Helper()
	tr, err := load(fsys, house{rooms: rooms, edges: edges})
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(read(fsys, glossaryPage), retiredAnchor)
	retired := map[string]bool{}
	for _, row := range retiredRow.FindAllStringSubmatch(table, -1) {
		for word := range strings.SplitSeq(row[1], ", ") {
			retired[word] = word != "our word"
		}
	}
	if !found || len(retired) < 2 {
		t.Fatalf("%s has no table of retired words", glossaryPage)
	}
	counts := map[wordUse]int{}
	for _, p := range tr.packs {
		for _, d := range p.declarations() {
			parts := nameParts(d.name)
			for i, part := range parts {
				rollBack := part == "roll" && i+1 < len(parts) && parts[i+1] == "back"
				for _, word := range []string{part, strings.TrimSuffix(part, "s")} {
					if retired[word] && !rollBack {
						counts[wordUse{word, p.dir}]++
						break
					}
				}
			}
		}
	}
	return counts
}

// nameParts splits a Go name at its capitals, in lower case: keptNodes is kept, nodes.
func nameParts(name string) (parts []string) {
	begin := 0
	for i, r := range name {
		if unicode.IsUpper(r) && i > begin {
			parts, begin = append(parts, strings.ToLower(name[begin:i])), i
		}
	}
	return append(parts, strings.ToLower(name[begin:]))
}

// retiredBreaches returns a sentence for each count above its ceiling. A declaration may move to another package: a
// package may exceed its ceiling if the word's count in the whole tree does not exceed the sum of its ceilings.
func retiredBreaches(counts, ceilings map[wordUse]int) (out []string) {
	excess := map[string]int{}
	for use, n := range counts {
		excess[use.word] += n
	}
	for use, n := range ceilings {
		excess[use.word] -= n
	}
	for use, n := range counts {
		if n > ceilings[use] && excess[use.word] > 0 {
			out = append(out, fmt.Sprintf("%s declares %d names with the retired word %q, above its ceiling of %d: use the term of %s.",
				use.dir, n, use.word, ceilings[use], glossaryPage))
		}
	}
	slices.Sort(out)
	return out
}

// readCeilings parses lines of a word, a package and a count.
func readCeilings(text string) (map[wordUse]int, error) {
	ceilings := map[wordUse]int{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: %q is not a word, a package and a count", ceilingsFile, line)
		}
		n, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ceilingsFile, err)
		}
		ceilings[wordUse{fields[0], fields[1]}] = n
	}
	return ceilings, nil
}

// writeCeilings returns the counts as lines in order.
func writeCeilings(counts map[wordUse]int) string {
	var lines []string
	for use, n := range counts {
		lines = append(lines, fmt.Sprintf("%s %s %d\n", use.word, use.dir, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestRetiredWordsAreCounted checks counting, ceilings and moves on a small tree.
func TestRetiredWordsAreCounted(t *testing.T) {
	t.Parallel()
	counts := retiredUses(t, mapFS(map[string]string{
		glossaryPage: "# Glossary\n" + retiredAnchor + "\n| our word | term |\n|---|---|\n" +
			"| teller | joiner |\n| forsake, surrender | remove |\n| roll | membership |\n",
		"core/gate/a.go": "// Package gate admits.\npackage gate\n\ntype tellers struct{}\n\nfunc (tellers) keptTeller() {}\n\n" +
			"func RollBack() {}\n\ntype Roll struct{}\n\nfunc forsakeTeller() {}\n",
		"core/gate/a_test.go": "package gate\n\nfunc teller() {}\n",
	}))
	want := map[wordUse]int{{"teller", "core/gate"}: 3, {"roll", "core/gate"}: 1, {"forsake", "core/gate"}: 1}
	if !maps.Equal(counts, want) {
		t.Errorf("counted %v, want %v", counts, want)
	}
	for _, c := range []struct {
		ceilings, want string
	}{
		{"teller core/gate 3\nroll core/gate 1\nforsake core/gate 1\n", ""},
		{"teller core/gate 5\nroll core/gate 1\nforsake core/join 1\n", ""},
		{"teller core/gate 2\nroll core/gate 1\nforsake core/gate 1\n", `core/gate declares 3 names with the retired word "teller"`},
		{"teller core/gate 3\nroll core/gate 1\n", `core/gate declares 1 names with the retired word "forsake"`},
	} {
		ceilings, err := readCeilings(c.ceilings)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(retiredBreaches(counts, ceilings), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("with ceilings %q: %q, want %q", c.ceilings, got, c.want)
		}
	}
	if _, err := readCeilings("teller core/gate\n"); err == nil {
		t.Error("a line without a count was accepted")
	}
}
