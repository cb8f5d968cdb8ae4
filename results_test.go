package bellows_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// resultsPage has every figure that the project claims, a row each, and the machines that they were measured on.
const resultsPage = "docs/results/README.md"

// The columns of its tables.
const (
	resultFigure = iota
	resultOurs
	resultPeer
	resultRatio
	resultWanted
	resultDate
	resultMachine
	resultCommand
	resultColumns
)

var (
	resultCall = regexp.MustCompile("^`\\./dev bench ([a-z]+)((?: --?[^`]+)?)`$")
	resultFlag = regexp.MustCompile(`--([a-z-]+)`)
	onlyFlag   = regexp.MustCompile(` --only ([a-z]+)`)
	// benchProgram finds the programs of a command, which has a row of each.
	benchProgram = regexp.MustCompile(`pair\.Program\{Name: "([a-z]+)"`)
	machineLine  = regexp.MustCompile(`(?m)^\* \*\*([A-Z])\*\*: `)
)

// TestResultsHold wants every claimed figure to name the command that prints it, where and when it was measured, and
// that it missed its target if it did.
func TestResultsHold(t *testing.T) {
	t.Parallel()
	for _, breach := range resultBreaches(os.DirFS(".")) {
		t.Error(breach)
	}
}

// resultBreaches returns one sentence for each claim of the page that the tree does not bear out.
func resultBreaches(tree fs.FS) (out []string) {
	text := read(tree, resultsPage)
	machines := map[string]bool{}
	for _, m := range machineLine.FindAllStringSubmatch(text, -1) {
		machines[m[1]] = true
	}
	shown := map[string]bool{}
	for _, cells := range resultRows(text) {
		if len(cells) != resultColumns {
			out = append(out, fmt.Sprintf("%s: the row %q has %d columns instead of %d.", resultsPage, cells[0], len(cells), resultColumns))
			continue
		}
		name, breaches := rowBreaches(tree, cells, machines)
		shown[name] = true
		if only := onlyFlag.FindStringSubmatch(cells[resultCommand]); only != nil {
			shown[name+" --only "+only[1]] = true
		}
		out = append(out, breaches...)
	}
	commands, err := fs.Glob(tree, "bench/*/main.go")
	if err != nil {
		return append(out, err.Error())
	}
	for _, c := range commands {
		name := path.Base(path.Dir(c))
		wanted := []string{name}
		if list := benchProgram.FindAllStringSubmatch(benchSource(tree, name), -1); list != nil {
			wanted = nil
			for _, m := range list {
				wanted = append(wanted, name+" --only "+m[1])
			}
		}
		for _, w := range wanted {
			if !shown[w] && !strings.Contains(text, "`bench/"+w+"` has no row yet") {
				out = append(out, fmt.Sprintf("%s: has no row of bench/%s, and does not say that it has none yet.", resultsPage, w))
			}
		}
	}
	return out
}

// benchSource returns the Go files of a benchmark's folder and of those below it.
func benchSource(tree fs.FS, name string) (source string) {
	// A folder that cannot be read has no source, and so no flag that a row could give.
	_ = fs.WalkDir(tree, "bench/"+name, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") {
			source += read(tree, p)
		}
		return err
	})
	return source
}

// resultRows returns the cells of each row of the page's tables, without their heads. An empty date, machine or command
// is that of the row above in the same table.
func resultRows(text string) (rows [][]string) {
	head, first := true, true
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			head = true
		case strings.HasPrefix(line, "|--"):
			head, first = false, true
		case !head:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
				if inherits := i >= resultDate && !first && cells[i] == ""; inherits && i < len(rows[len(rows)-1]) {
					cells[i] = rows[len(rows)-1][i]
				}
			}
			rows, first = append(rows, cells), false
		}
	}
	return rows
}

// rowBreaches looks at one row and returns the name of its benchmark too.
func rowBreaches(tree fs.FS, cells []string, machines map[string]bool) (name string, out []string) {
	refuse := func(format string, args ...any) {
		out = append(out, fmt.Sprintf("%s: the row %q ", resultsPage, cells[resultFigure])+fmt.Sprintf(format, args...)+".")
	}
	if call := resultCall.FindStringSubmatch(cells[resultCommand]); call == nil {
		refuse("names no command, `./dev bench NAME --FLAG ...`, but %s", cells[resultCommand])
	} else {
		name = call[1]
		source := benchSource(tree, "internal/pair")
		if !exists(tree, "bench/"+name+"/main.go") {
			refuse("names bench/%s, which is not in the tree", name)
		} else {
			source += benchSource(tree, name)
			for _, flag := range resultFlag.FindAllStringSubmatch(call[2], -1) {
				if !strings.Contains(source, `"`+flag[1]+`"`) {
					refuse("gives bench/%s a flag that it has not: --%s", name, flag[1])
				}
			}
		}
	}
	if _, err := time.Parse(time.DateOnly, cells[resultDate]); err != nil {
		refuse("has the date %q, not one like 2006-01-02", cells[resultDate])
	}
	if !machines[cells[resultMachine]] {
		refuse("was measured on %q, which is no machine of the page", cells[resultMachine])
	}
	if cells[resultOurs] == "" || cells[resultOurs] == "–" {
		refuse("has no figure of ours")
	}
	shown, missed := strings.CutSuffix(cells[resultRatio], " below")
	ratio, none := strconv.ParseFloat(shown, 64)
	wanted, open := strconv.ParseFloat(cells[resultWanted], 64)
	if none == nil && open == nil && (ratio < wanted) != missed {
		refuse("has the ratio %s where %s is wanted: one that is less ends in below, and no other does", cells[resultRatio], cells[resultWanted])
	}
	return name, out
}

// TestResultsRefuse plants one wrong claim at a time.
func TestResultsRefuse(t *testing.T) {
	t.Parallel()
	const head = "* **A**: a machine\n\n| figure | ours | held against | ratio | wanted | date | machine | command |\n|---|---|---|---|---|---|---|---|\n"
	row := func(ratio, date, machine, command string) string {
		return head + "| speed | 3 | 2 | " + ratio + " | 1 | " + date + " | " + machine + " | `" + command + "` |\n"
	}
	tree := func(page string) fs.FS {
		files := fstest.MapFS{
			"bench/a/main.go":              {Data: []byte(`flag.String("data", "", "")`)},
			"bench/internal/pair/flags.go": {Data: []byte(`flag.Bool("full", false, "")`)},
			resultsPage:                    {Data: []byte(page)},
		}
		if strings.Contains(page, "./dev bench c ") {
			files["bench/c/main.go"] = &fstest.MapFile{}
			files["bench/c/one/one.go"] = &fstest.MapFile{Data: []byte(`var Program = pair.Program{Name: "one"}`)}
			files["bench/c/two/two.go"] = &fstest.MapFile{Data: []byte(`var Program = pair.Program{Name: "two"}; flags.Bool("far", false, "")`)}
		}
		return files
	}
	for _, sound := range []string{
		row("1.5", "2026-11-21", "A", "./dev bench a --full --data DIR"),
		row("0.5 below", "2026-11-21", "A", "./dev bench a"),
		"`bench/a` has no row yet\n",
		row("1.5", "2026-11-21", "A", "./dev bench a --full") + "| size | 3 | 2 | 1.5 | 1 | | | |\n",
	} {
		if got := resultBreaches(tree(sound)); len(got) > 0 {
			t.Errorf("refused a sound page: %q", got)
		}
	}
	for _, c := range []struct{ page, want string }{
		{"# none\n", "has no row of bench/a"},
		{row("1.5", "2026-11-21", "A", "./dev bench b"), "names bench/b, which is not in the tree"},
		{row("1.5", "2026-11-21", "A", "./measure"), "names no command"},
		{row("1.5", "2026-11-21", "A", "./dev bench a --fast"), "a flag that it has not: --fast"},
		{row("1.5", "today", "A", "./dev bench a"), `the date "today"`},
		{row("1.5", "2026-11-21", "B", "./dev bench a"), "no machine of the page"},
		{row("0.5", "2026-11-21", "A", "./dev bench a"), "one that is less ends in below"},
		{row("1.5 below", "2026-11-21", "A", "./dev bench a"), "and no other does"},
		{head + "| speed | 3 |\n`bench/a` has no row yet\n", "has 2 columns"},
		{head + "| speed | 3 | 2 | 1.5 | 1 | | | |\n", "names no command"},
		{row("1.5", "2026-11-21", "A", "./dev bench a") + "| size | 3 | 2 | 0.5 | 1 | | | |\n", `the row "size" has the ratio`},
		{strings.Replace(row("1.5", "2026-11-21", "A", "./dev bench a"), "| 3 |", "| – |", 1), "no figure of ours"},
		{row("1.5", "2026-11-21", "A", "./dev bench a") + row("1.5", "2026-11-21", "A", "./dev bench c --only two --far"), "has no row of bench/c --only one"},
	} {
		if got := resultBreaches(tree(c.page)); !mentions(got, c.want) {
			t.Errorf("want a sentence with %q, got %q", c.want, got)
		}
	}
}
