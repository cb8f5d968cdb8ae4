package bellows_test

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// lowerEnglish rewrites the ceilings: each file's to what it has now, if that is less.
var lowerEnglish = flag.Bool("english.lower", false, "lower the ceilings of testdata/english.txt to what is counted")

// ceilingsOfEnglish has the number of turns that each file may have at most. One without a line may have none.
const ceilingsOfEnglish = "testdata/english.txt"

// turns are what plain English does without, and what to write in its place. They are sought in comments, in
// strings that are sentences, and on pages.
var turns = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\b(who|whom|whose|whoever|nobody|somebody|anybody|everybody)\b`), "it, which, that for machines; no node, each process"},
	{regexp.MustCompile(`\b(behind|beside) (it|them|that|which|this|the|an?|each|all|every)\b`), "after, before or next to"},
	{regexp.MustCompile(`\b(go|goes|going|went|gone) on\b`), "continue or resume"},
	{regexp.MustCompile(`\b(is|are|was|were|be|been) told\b|\b(says|said) so\b|\bwords? (comes|came) from\b`), "send, receive, report"},
	{regexp.MustCompile(`(^|[.;:] |\()(What|Whatever|Whoever|Who) [a-z]+`), "begin with the subject"},
	{regexp.MustCompile(`, too\b|\blikewise\b`), "say what is also true"},
	{regexp.MustCompile(`\bof (now|then)\b|\bthe one before\b`), "the current, the previous"},
	{regexp.MustCompile(`\bin (its|their) turn\b|\bin whose\b|\bby whose\b`), "a sentence of its own"},
	{regexp.MustCompile(`\b(mend(s|ed)?|buried|buries|heirs?|mourn(s|ed)?)\b`), "fix; declare lost; successor"},
}

// emptyName are names of functions that say nothing without their call.
var emptyName = regexp.MustCompile(`^(?i:of|me|has|over|there|may|tell|told|is|are|by|at|to|from|in|with|without|back|past|left|goes|says|all|` +
	`none|any|some|what|who|as|then|now|behind|once|own|ours|theirs|those|such|away|out|down|on|off|mean|means|like|alike|apart|` +
	`together|beside|aside)$`)

// riddle matches names of tests that begin like a sentence without a subject.
var riddle = regexp.MustCompile(`^Test(Who|What|Nobody|Nothing|Somebody|All|None|No)[A-Z]`)

// capital begins each word of a name.
var capital = regexp.MustCompile(`[A-Z][a-z]*`)

// wordsOfATestMost is how many words the name of a test has at most.
const wordsOfATestMost = 8

// turn is a place where the English is not plain.
type turn struct {
	line    int
	text    string
	instead string
}

// TestEnglishGetsPlainer counts, in each file, the turns that stop a reader. The ceilings may only fall. A file that
// moves takes its line of testdata/english.txt along.
func TestEnglishGetsPlainer(t *testing.T) {
	t.Parallel()
	fsys := os.DirFS(".")
	ceilings, err := readEnglishCeilings(fsys)
	if err != nil {
		t.Fatal(err)
	}
	found, err := turnsOfTree(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list := found[name]
		if len(list) <= ceilings[name] {
			continue
		}
		t.Errorf("%s has %d turns that are not plain English, more than %d. Some of them:", name, len(list), ceilings[name])
		for _, one := range list[:min(len(list), 3)] {
			t.Errorf("  %s:%d: %s\n    write: %s", name, one.line, one.text, one.instead)
		}
	}
	if *lowerEnglish {
		if err := writeEnglishCeilings(ceilings, found); err != nil {
			t.Fatal(err)
		}
	}
}

// readEnglishCeilings reads lines of a path and a number.
func readEnglishCeilings(fsys fs.FS) (map[string]int, error) {
	f, err := fsys.Open(ceilingsOfEnglish)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ceilings := map[string]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		name, count, ok := strings.Cut(s.Text(), " ")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n < 1 || ceilings[name] > 0 {
			return nil, fmt.Errorf("%s: %q is no new path with a number", ceilingsOfEnglish, s.Text())
		}
		ceilings[name] = n
	}
	return ceilings, nil
}

// writeEnglishCeilings writes the lower of the ceiling and the count of each file that has a ceiling.
func writeEnglishCeilings(ceilings map[string]int, found map[string][]turn) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ceilings)) {
		if n := min(ceilings[name], len(found[name])); n > 0 {
			fmt.Fprintf(&b, "%s %d\n", name, n)
		}
	}
	return os.WriteFile(ceilingsOfEnglish, []byte(b.String()), 0o600)
}

// turnsOfTree returns the turns of every file of Go and Markdown, nested modules included, that has some.
func turnsOfTree(fsys fs.FS) (map[string][]turn, error) {
	found := map[string][]turn{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || base != "." && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		}
		var list []turn
		switch path.Ext(name) {
		case ".go":
			if list, err = turnsOfGo(name, read(fsys, name)); err != nil {
				return err
			}
		case ".md":
			list = turnsOfPage(read(fsys, name))
		}
		if len(list) > 0 {
			found[name] = list
		}
		return nil
	})
	return found, err
}

// turnsOfGo returns the turns of the comments, the names and the sentences of a file.
func turnsOfGo(name, text string) (list []turn, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	line := func(p token.Pos) int { return fset.Position(p).Line }
	for _, group := range file.Comments {
		for _, c := range group.List {
			list = append(list, turnsOfLines(strings.Split(c.Text, "\n"), line(c.Pos()), "//")...)
		}
	}
	if name == "english_test.go" {
		return list, nil // its strings are the turns
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING && len(s.Value) > 25 && strings.Contains(s.Value, " ") {
			list = append(list, turnsOfLines(strings.Split(s.Value, "\n"), line(s.Pos()), "`\"")...)
		}
		return true
	})
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			list = append(list, turnsOfFunction(f, line(f.Pos()))...)
		}
	}
	return list, nil
}

// turnsOfFunction returns what is not plain in the name of a function, and in how its comment begins.
func turnsOfFunction(f *ast.FuncDecl, line int) (list []turn) {
	name := f.Name.Name
	if emptyName.MatchString(name) {
		list = append(list, turn{line, name, "a verb or a noun of the field"})
	}
	if riddle.MatchString(name) || strings.HasPrefix(name, "Test") && len(capital.FindAllString(name, -1)) > wordsOfATestMost {
		list = append(list, turn{line, name, "what is tested and how it behaves, in eight words; the rest in the comment"})
	}
	doc := strings.Fields(f.Doc.Text())
	if len(doc) > 1 && doc[0] == name && slices.Contains([]string{"is", "are", "has", "have", "was"}, doc[1]) {
		list = append(list, turn{line, name + " " + doc[1], "returns, reports whether, sends …"})
	}
	return list
}

// turnsOfPage returns the turns of a page, without what it quotes.
func turnsOfPage(text string) (list []turn) {
	quoted := false
	for i, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, "```") {
			quoted = !quoted
		}
		if !quoted {
			list = append(list, turnsOfLines([]string{l}, i+1, "|")...)
		}
	}
	return list
}

// turnsOfLines returns the turns of lines from a number on: at most one of each kind a line.
func turnsOfLines(lines []string, first int, trim string) (list []turn) {
	for i, l := range lines {
		l = strings.TrimLeft(strings.TrimSpace(l), trim+" ")
		for _, one := range turns {
			if one.pattern.MatchString(l) {
				list = append(list, turn{first + i, l, one.instead})
			}
		}
	}
	return list
}

// TestTurnsAreCounted plants turns in a comment, a name, a sentence and a page.
func TestTurnsAreCounted(t *testing.T) {
	t.Parallel()
	tree := mapFS(map[string]string{
		"a.go": "package a\n\n// Of is who owns it.\nfunc Of() {}\n\n// TestNobodyWaits checks it.\nfunc TestNobodyWaits() {}\n\n" +
			"var s = \"what goes on here is a sentence\"\n\nvar plain = \"two words\"\n",
		"b.md":            "It is sent behind the record.\n```\nit goes on\n```\n",
		"testdata/c.go":   "package c // who\n",
		"english_test.go": "package a\n\nvar s = \"somebody who is quoted here\"\n",
	})
	found, err := turnsOfTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for name, list := range found {
		got[name] = len(list)
	}
	// a.go: the comment's pronoun, the name, how its comment begins, the test's name, the sentence.
	if want := map[string]int{"a.go": 5, "b.md": 1}; !maps.Equal(got, want) {
		t.Errorf("counted %v in %+v, want %v", got, found, want)
	}
}
