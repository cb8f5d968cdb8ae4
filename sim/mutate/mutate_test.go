package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// offered returns the mutants of a function's body, each as "operator: the changed line".
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

// What TestMutantsInOneProgram plays: functions of all kinds, and their tests, of which one starts a child.
const (
	kindsSource = `package x

// Assign returns nothing, and ends with a comment.
func Assign(p *int) {
	*p = 2 // at the end
}

// Twice declares its parameter anew for what it defers.
func Twice(n int) (got int) {
	defer func() { got = n }()
	m, n := n+n, 0
	return m
}

// Outer contains a label.
func Outer(n int) int {
again:
	for {
		if n > 3 {
			break again
		}
		n++
	}
	return n
}

// Pick contains a change that does not compile: an index that is known to be too large.
func Pick(a, b bool) bool {
	list := [1]bool{b}
	return a && list[0]
}
`

	kindsTests = `package x

import (
	"os"
	"os/exec"
	"testing"
)

func TestAll(t *testing.T) {
	n := 1
	Assign(&n)
	if n != 2 || Twice(1) != 0 || Outer(1) != 4 {
		t.Error("wrong")
	}
}

func TestChild(t *testing.T) {
	if os.Getenv("CHILD") != "" {
		if Pick(true, false) || !Pick(true, true) {
			t.Error("wrong in the child")
		}
		return
	}
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(name, "-test.run", "TestChild")
	c.Env = []string{"CHILD=1"}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
`
)

// TestMutantsInOneProgram builds functions of all kinds with copies of their bodies, finds the mutants that the compiler
// refuses, and leaves out those whose copies would mean something else.
func TestMutantsInOneProgram(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module one\n\ngo 1.26\n", "x/x.go": kindsSource, "x/x_test.go": kindsTests} {
		if err := errors.Join(os.MkdirAll(filepath.Join(root, "x"), 0o777), os.WriteFile(filepath.Join(root, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := load(root, "x", nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{root: root, scratch: t.TempDir(), megabytes: 8 << 10, shortest: 20 * time.Second}
	own := &suite{dir: "x", name: "tests"}
	all, err := j.join(t.Context(), p, p.drawn, own)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.prepare(t.Context(), own, all); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"Assign": true, "Twice": false, "Outer": false, "Pick": true} // in the program
	for _, m := range p.drawn {
		refused := m.operator == "0 to 1" && m.function == "Pick"
		if got := all.number[m] > 0; got != (want[m.function] && !refused) {
			t.Errorf("%s is in the program: %v", m.id(), got)
		}
		if !want[m.function] {
			continue
		}
		together, why, err := j.judge(t.Context(), m, p.sources[m.file], []*suite{own}, all)
		if err != nil {
			t.Fatal(err)
		}
		alone, whyAlone, err := j.judge(t.Context(), m, p.sources[m.file], []*suite{own}, nil)
		if err != nil || together != alone || (together == notGo) != refused {
			t.Errorf("%s: together %s (%s), alone %s (%s), error %v", m.id(), together, why, alone, whyAlone, err)
		}
	}
}

// TestUnrepeatedFailureKillsNoMutant: the test fails when it runs first, whatever the mutant is.
func TestUnrepeatedFailureKillsNoMutant(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module one\n\ngo 1.26\n", "x.go": "package x\n\nfunc F() {\n\tg()\n}\n\nfunc g() {}\n",
		"x_test.go": "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestOnce(t *testing.T) {\n\tif err := os.Mkdir(\"ran\", 0o777); err == nil {\n\t\tt.Error(\"the first\")\n\t}\n}\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := load(root, ".", nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{root: root, scratch: t.TempDir(), megabytes: 8 << 10, shortest: 20 * time.Second}
	v, why, err := j.judge(t.Context(), p.drawn[0], p.sources["x.go"], []*suite{{dir: ".", name: "tests"}}, nil)
	if v != survived || err != nil {
		t.Errorf("%s, %s, %v", v, why, err)
	}
	if _, err := os.Stat(filepath.Join(root, "ran")); err != nil {
		t.Error(err)
	}
}

// TestQuickTestsComeFirst divides tests by their time, and leaves those alone that take little or are one.
func TestQuickTestsComeFirst(t *testing.T) {
	t.Parallel()
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	own := &suite{dir: "x", args: []string{"-x"}, usually: ms(9000)}
	parts := own.parts(map[string]time.Duration{"TestA": ms(100), "TestB": ms(7000), "TestC": ms(500), "TestD": ms(900)})
	if len(parts) != 2 || !slices.Equal(parts[0].args, []string{"-x", "-test.skip", "^(TestD|TestB)$"}) ||
		!slices.Equal(parts[1].args, []string{"-x", "-test.run", "^(TestD|TestB)$"}) || parts[0].usually != ms(600) || parts[1].usually != ms(7900) {
		t.Errorf("the parts: %+v", parts)
	}
	for _, took := range []map[string]time.Duration{{}, {"TestA": ms(9000)}, {"TestA": ms(1), "TestB": ms(1900)}} {
		if parts := own.parts(took); len(parts) != 1 || parts[0] != own {
			t.Errorf("%v: %+v", took, parts)
		}
	}
	out := &tail{took: map[string]time.Duration{}}
	for _, text := range []string{"=== RUN   TestA\n--- PASS: Te", "stA (0.12s)\n    --- PASS: TestA/sub (3.00s)\n", "--- PASS: FuzzB (1.50s)\nPASS\n"} {
		_, _ = out.Write([]byte(text))
	}
	if want := map[string]time.Duration{"TestA": ms(120), "FuzzB": ms(1500)}; !maps.Equal(out.took, want) {
		t.Errorf("the times: %v", out.took)
	}
}

// TestSomeFilesOnly draws the mutants of the named files, in the order that they have among all, and refuses a name that is none.
func TestSomeFilesOnly(t *testing.T) {
	t.Parallel()
	draw := func(only ...string) (ids []string) {
		p, err := load("../..", "sim/mutate", only, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.drawn {
			ids = append(ids, m.id())
		}
		return ids
	}
	want := slices.DeleteFunc(draw(), func(id string) bool {
		return !strings.HasPrefix(id, "sim/mutate/draw.go: ") && !strings.HasPrefix(id, "sim/mutate/ledger.go: ")
	})
	if got := draw("ledger.go", "draw.go"); !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("of two files %q\nwant %q", got, want)
	}
	for _, name := range []string{"other.go", "mutate_test.go", ""} {
		if _, err := load("../..", "sim/mutate", []string{name}, 5); err == nil || !strings.Contains(err.Error(), "has no file "+name) {
			t.Errorf("a file %q: %v", name, err)
		}
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

// TestSurvivorsAreJudgedAgainAfterChanges: what was killed stays so; what survived is judged again when its package changes.
func TestSurvivorsAreJudgedAgainAfterChanges(t *testing.T) {
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
