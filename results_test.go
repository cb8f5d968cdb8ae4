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

var (
	// resultSource is a line of text, or a row of a table, that names the command, the machine and the date of the rows below it.
	resultSource = regexp.MustCompile("^(?:\\| )?`(\\./[^`]+)`, ([^,]+), ([^,;:.| ]+)")
	resultCall   = regexp.MustCompile(`^\./dev bench ([a-z]+)((?: --?.+)?)$`)
	resultFlag   = regexp.MustCompile(`--([a-z-]+)`)
	onlyFlag     = regexp.MustCompile(` --only ([a-z]+)`)
	// benchProgram finds the programs of a command, which has a row of each.
	benchProgram = regexp.MustCompile(`pair\.Program\{Name: "([a-z]+)"`)
	machineLine  = regexp.MustCompile(`(?m)^\* \*\*([A-Z])\*\*: `)
)

// TestResultsHold wants every claimed figure to have the command that prints it, the machine and the date above it, and
// to say that it missed its target if it did.
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
	var source, head []string
	previous := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		cells := tableCells(line)
		switch found := resultSource.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "#"):
			source, head = nil, nil
		case found != nil:
			source = found
			programs, breaches := sourceBreaches(tree, found, machines)
			for _, p := range programs {
				shown[p] = true
			}
			out = append(out, breaches...)
		case strings.HasPrefix(line, "|--"):
			head = tableCells(previous)
		case cells == nil:
			head = nil
		case head != nil:
			out = append(out, rowBreaches(head, cells, source)...)
		}
		previous = line
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

// tableCells returns the cells of a row of a table, or nil for another line.
func tableCells(line string) []string {
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// sourceBreaches checks a command, a machine and a date, and returns the benchmark and the program that the command runs.
func sourceBreaches(tree fs.FS, source []string, machines map[string]bool) (programs, out []string) {
	command, machine, date := source[1], source[2], source[3]
	refuse := func(format string, args ...any) {
		out = append(out, fmt.Sprintf("%s: %q ", resultsPage, command)+fmt.Sprintf(format, args...)+".")
	}
	if call := resultCall.FindStringSubmatch(command); call == nil {
		refuse("is no command, `./dev bench NAME --FLAG ...`")
	} else {
		name := call[1]
		programs = append(programs, name)
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
		if only := onlyFlag.FindStringSubmatch(command); only != nil {
			programs = append(programs, name+" --only "+only[1])
		}
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		refuse("has the date %q, not one like 2006-01-02", date)
	}
	if !machines[machine] {
		refuse("was measured on %q, which is no machine of the page", machine)
	}
	return programs, out
}

// rowBreaches checks a row of figures by the head of its table. The wanted ratio is in the column's head, as in
// "ratio, wanted 0.9", or in the row's column "wanted".
func rowBreaches(head, cells, source []string) (out []string) {
	refuse := func(format string, args ...any) {
		out = append(out, fmt.Sprintf("%s: the row %q ", resultsPage, cells[0])+fmt.Sprintf(format, args...)+".")
	}
	if source == nil {
		refuse("has no command, machine and date above it in its section")
	}
	if len(cells) > len(head) {
		refuse("has %d columns instead of %d", len(cells), len(head))
		return out
	}
	figure, common := false, ""
	for i, cell := range cells {
		figure = figure || i > 0 && cell != "" && cell != "–"
		if head[i] == "wanted" {
			common = cell
		}
	}
	if !figure {
		refuse("has no figure of ours")
	}
	for i, cell := range cells {
		kind, wish, own := strings.Cut(head[i], ", wanted ")
		if kind != "ratio" {
			continue
		}
		if !own {
			wish = common
		}
		shown, missed := strings.CutSuffix(cell, " below")
		ratio, none := strconv.ParseFloat(shown, 64)
		wanted, open := strconv.ParseFloat(wish, 64)
		if none == nil && open == nil && (ratio < wanted) != missed {
			refuse("has the ratio %s where %s is wanted: one that is less ends in below, and no other does", cell, wish)
		}
	}
	return out
}

// TestResultsRefuse plants one wrong claim at a time.
func TestResultsRefuse(t *testing.T) {
	t.Parallel()
	const (
		machine = "* **A**: a machine\n\n"
		table   = "\n| figure | ours | held against | ratio | wanted |\n|---|---|---|---|---|\n"
	)
	row := func(ratio, date, machine, command string) string {
		return "* **A**: a machine\n\n`" + command + "`, " + machine + ", " + date + ":\n" + table + "| speed | 3 | 2 | " + ratio + " | 1 |\n"
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
		row("1.5", "2026-11-21", "A", "./dev bench a --full") + "| `./dev bench a`, A, 2026-11-22, load 3 |\n| size | 3 | 2 | 1.5 | 1 |\n",
		strings.ReplaceAll(row("0.5 below", "2026-11-21", "A", "./dev bench a"), "| ratio | wanted |", "| ratio, wanted 2 | 3 |"),
	} {
		if got := resultBreaches(tree(sound)); len(got) > 0 {
			t.Errorf("refused a sound page: %q", got)
		}
	}
	for _, c := range []struct{ page, want string }{
		{"# none\n", "has no row of bench/a"},
		{row("1.5", "2026-11-21", "A", "./dev bench b"), "names bench/b, which is not in the tree"},
		{row("1.5", "2026-11-21", "A", "./measure"), "is no command"},
		{row("1.5", "2026-11-21", "A", "./dev bench a --fast"), "a flag that it has not: --fast"},
		{row("1.5", "today", "A", "./dev bench a"), `the date "today"`},
		{row("1.5", "2026-11-21", "B", "./dev bench a"), "no machine of the page"},
		{row("0.5", "2026-11-21", "A", "./dev bench a"), "one that is less ends in below"},
		{row("1.5 below", "2026-11-21", "A", "./dev bench a"), "and no other does"},
		{row("1.5", "2026-11-21", "A", "./dev bench a") + "| speed | 3 | 2 | 1.5 | 1 | 1 |\n", "has 6 columns instead of 5"},
		{machine + table + "| speed | 3 | 2 | 1.5 | 1 |\n", "has no command, machine and date above it"},
		{row("1.5", "2026-11-21", "A", "./dev bench a") + "\n## Next\n" + table + "| speed | 3 | 2 | 1.5 | 1 |\n", "has no command, machine and date above it"},
		{row("1.5", "2026-11-21", "A", "./dev bench a") + "| size | 3 | 2 | 0.5 | 1 |\n", `the row "size" has the ratio`},
		{strings.Replace(row("1.5", "2026-11-21", "A", "./dev bench a"), "| ratio |", "| ratio, wanted 2 |", 1), "has the ratio 1.5 where 2 is wanted"},
		{row("1.5", "2026-11-21", "A", "./dev bench a") + "| size | – | – | – |\n", "no figure of ours"},
		{row("1.5", "2026-11-21", "A", "./dev bench a") + row("1.5", "2026-11-21", "A", "./dev bench c --only two --far"), "has no row of bench/c --only one"},
	} {
		if got := resultBreaches(tree(c.page)); !mentions(got, c.want) {
			t.Errorf("want a sentence with %q, got %q", c.want, got)
		}
	}
}
