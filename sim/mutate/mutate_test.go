package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// offered are the mutants of a function's body, each as "operator: the changed line".
func offered(t *testing.T, source string) (out []string) {
	t.Helper()
	text := []byte(source)
	found, err := mutants("x/x.go", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		_, after, _ := strings.Cut(m.diff(text), "\n+")
		out = append(out, m.operator+": "+strings.Join(strings.Fields(strings.ReplaceAll(after, "\n+", " ")), " "))
	}
	return out
}

func TestOperators(t *testing.T) {
	t.Parallel()
	const early = "return at once"
	for _, c := range []struct {
		body string
		want []string
	}{
		{"_ = a < b", []string{"< to <=: _ = a <= b", "< to >=: _ = a >= b"}},
		{"_ = a >= b", []string{">= to >: _ = a > b", ">= to <: _ = a < b"}},
		{"_ = a == b", []string{"== to !=: _ = a != b"}},
		{"_ = p && q", []string{"&& to ||: _ = p || q"}},
		{"_ = a - b", []string{"- to +: _ = a + b"}},
		{"_ = 0", []string{"0 to 1: _ = 1"}},
		{"_ = 17", nil},
		{"_ = true", []string{"true to false: _ = false"}},
		{"_ = min(a, b)", []string{"min to max: _ = max(a, b)"}},
		{"_ = x.min", nil},
		{"_ = s[a:b]", []string{"lower bound up by one: _ = s[(a)+1:b]", "upper bound down by one: _ = s[a:(b)-1]"}},
		{"call(a)", []string{"call skipped: if false { call(a) }"}},
		{"defer call(a)", []string{"defer skipped: if false { defer call(a) }"}},
		{"a++", []string{"step skipped: if false { a++ }"}},
		{"a = b", []string{"assignment skipped: if false { a = b }"}},
		{"a += b", []string{"assignment skipped: if false { a += b }"}},
		{"a := b", nil},
		{"if p { return }", []string{"condition negated: if !(p) { return }", "return skipped: if p { if false { return } }"}},
		{"if a < b { f = g }", []string{"< to <=: if a <= b { f = g }", "< to >=: if a >= b { f = g }", "assignment skipped: if a < b { if false { f = g } }"}},
		{"for { break }", []string{"break skipped: for { if false { break } }"}},
		{"for range a { continue }", []string{"continue skipped: for range a { if false { continue } }"}},
		{"panic(a)", nil},
		{"_ = make([]int, 0)", nil},
		{"const c = 1", nil},
		{"var v [1]int", nil},
		{"if planted.On(\"x\") { a++ }", nil},
		{"if p && planted.On(\"x\") { a++ } else { b++ }", []string{"step skipped: if p && planted.On(\"x\") { a++ } else { if false { b++ } }"}},
		{"if p && !planted.On(\"x\") { }", []string{"condition negated: if !(p && !planted.On(\"x\")) { }", "&& to ||: if p || !planted.On(\"x\") { }"}},
	} {
		got := offered(t, "package x\n\nfunc f() {\n\t"+c.body+"\n}\n")
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, early) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.body, got, c.want)
		}
	}
	got := offered(t, "package x\n\nfunc f() (n int, _, b []byte) {\n\tg()\n\treturn\n}\n")
	want := early + ": if true { return *new(int), *new([]byte), *new([]byte) }; g()"
	if !slices.Contains(got, want) {
		t.Errorf("want %q among %q", want, got)
	}
	if got := offered(t, "package x\n\nfunc (t T) String() string { return a + b }\n"); len(got) > 0 {
		t.Errorf("what is for people has mutants: %q", got)
	}
}

// TestNamesAndDrawSurviveEdits sees that a line above changes neither what the others are called nor their order.
func TestNamesAndDrawSurviveEdits(t *testing.T) {
	t.Parallel()
	draw := func(source string) (ids []string) {
		found, err := mutants("x/x.go", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		order(found, 3)
		for _, m := range found {
			ids = append(ids, m.id())
		}
		return ids
	}
	const body = "func (c *C[T]) f() {\n\tif a < b || b < c {\n\t\ta++\n\t}\n\td = 0\n}\n"
	before := draw("package x\n\n" + body)
	after := draw("package x\n\nfunc g() { e += 2 }\n\n" + body)
	after = slices.DeleteFunc(after, func(id string) bool { return strings.Contains(id, ": g: ") })
	if !slices.Equal(before, after) {
		t.Errorf("before %q\nafter  %q", before, after)
	}
	if want := "x/x.go: C.f: < to <=: `if a < b || b < c {` #2"; !slices.Contains(before, want) {
		t.Errorf("want %q among %q", want, before)
	}
	if names := slices.Compact(slices.Sorted(slices.Values(before))); len(names) != len(before) {
		t.Errorf("two mutants have one name: %q", before)
	}
}

// TestEachFate judges all mutants of a small tree: by its tests, by its schedules, by time, as explained. A second run
// repeats none.
func TestEachFate(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	accepted := filepath.Join(folder, "mutants.md")
	const same = "clamp/clamp.go: Within: < to <=: `if x < least {`"
	err := os.WriteFile(accepted, []byte("# Explained\n\n## "+same+"\n\nEquivalent: at the bound\nboth are the same.\n\n```diff\n-<\n+<=\n```\n\n"+
		"## clamp/clamp.go: Within: gone: `x`\n\nAccepted: no longer there.\n\n"+
		"## clamp/clamp.go: Greet: return at once: `return \"good\" + \" day\"`\n\nAccepted: nobody is greeted.\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	c := config{root: "testdata/small", packages: []string{"./clamp"}, seed: 1, count: 100, budget: time.Hour, workers: 2, sim: "sim",
		results: filepath.Join(folder, "results"), accepted: accepted, shortest: 2 * time.Second}
	var out strings.Builder
	err = measure(t.Context(), c, &out)
	for _, want := range []string{
		"equivalent " + same + " (line 6): at the bound both are the same.\n",
		"killed     clamp/clamp.go: Within: < to >=: `if x < least {` (line 6): tests: TestWithin: not within\n",
		"killed     clamp/clamp.go: Count: step skipped: `calls++` (line 14): schedules: TestSchedules: seed 1 counts 0\n",
		"killed     clamp/clamp.go: Finish: call skipped: `close(done)` (line 22): tests: not over after ",
		"survived   clamp/clamp.go: Greet: return at once: `return \"good\" + \" day\"` (line 27): accepted: nobody is greeted.\n",
		"clamp: 6 of 7 killed (86 %), 1 survived (1 of them accepted), 1 equivalent\n",
		"explains a mutant that the tree no longer has: clamp/clamp.go: Within: gone: `x`\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
	if err == nil || !strings.Contains(err.Error(), "1 of 8 mutants are called equivalent; at most 8 % may be") {
		t.Errorf("more equivalent ones than may be: %v", err)
	}
	before, again := out.String(), strings.Builder{}
	c.budget = 0 // nothing can be begun
	_ = measure(t.Context(), c, &again)
	if again.String() != before {
		t.Errorf("the second run says\n%s\nthe first\n%s", again.String(), before)
	}
}

// TestAScoreIsJudgedByItsShares takes the least that may be killed and the most that may be called equivalent, and refuses one less and one more.
func TestAScoreIsJudgedByItsShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		score score
		want  string
	}{
		{score{killed: 85, survived: 15}, ""},
		{score{killed: 84, survived: 16}, "84 of 100 mutants are killed; at least 85 % must be"},
		{score{killed: 92, equivalent: 8}, ""},
		{score{killed: 91, equivalent: 9}, "9 of 100 mutants are called equivalent; at most 8 % may be"},
		{score{killed: 99, open: 1}, "some mutants were not judged"},
		{score{}, ""},
	} {
		if err := c.score.judge(); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%+v: %v, want %q", c.score, err, c.want)
		}
	}
}

// TestWhatIsKnownAgesByItsPackage: what was killed stays so; what survived is judged again when its package changes.
func TestWhatIsKnownAgesByItsPackage(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "runs", "results")
	book, err := openLedger(name)
	if err != nil {
		t.Fatal(err)
	}
	list := map[verdict]*mutant{}
	for _, v := range []verdict{killed, survived, notGo, unclear} {
		list[v] = &mutant{file: "a/a.go", function: "f", operator: string(v)}
		if err := book.add(result{Mutant: list[v].id(), Verdict: v, State: "one"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := book.file.WriteString(`{"mutant": "half a li`); err != nil {
		t.Fatal(err)
	}
	book, err = openLedger(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of   verdict
		in   string
		want bool
	}{
		{killed, "one", true}, {killed, "two", true}, {survived, "one", true}, {survived, "two", false},
		{notGo, "one", true}, {notGo, "two", false}, {unclear, "one", false},
	} {
		if _, got := book.find(list[c.of], &pack{state: c.in}); got != c.want {
			t.Errorf("%s, package in state %s: known %v", c.of, c.in, got)
		}
	}
}

// TestExplanationsAreWhole refuses entries without a verdict, a reason or a diff, and those of the tree that explain nothing.
func TestExplanationsAreWhole(t *testing.T) {
	t.Parallel()
	const tree = "../.."
	entries, err := readAccepted(tree + "/sim/testdata/mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range stale(tree, entries) {
		t.Errorf("sim/testdata/mutants.md explains a mutant that the tree no longer has: name it as ./dev mutate does now, or delete its entry: %s", id)
	}
	name := filepath.Join(t.TempDir(), "mutants.md")
	for _, c := range []struct{ text, want string }{
		{"## a\n\nIt is the same.\n", "begins neither with"},
		{"## a\n\nEquivalent: it is the same.\n", "stands with its diff"},
	} {
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readAccepted(name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: want %q, got %v", c.text, c.want, err)
		}
	}
}
