package bellows_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// TestExperimentsHold wants every experiment to have a page among the results, with its command, goals, misses and
// picture; and a test of its own.
func TestExperimentsHold(t *testing.T) {
	t.Parallel()
	for _, breach := range experimentBreaches(os.DirFS(".")) {
		t.Error(breach)
	}
}

var experimentCall = regexp.MustCompile(`\./dev experiments ([a-z]+)((?: --?[^\n` + "`" + `]+)?)`)

// experimentBreaches returns one sentence for each experiment without what it needs, and for each page that names what is not there.
func experimentBreaches(tree fs.FS) (out []string) {
	programs, err := fs.Glob(tree, "experiments/*/main.go")
	if err != nil {
		return append(out, err.Error())
	}
	for _, p := range programs {
		name := path.Base(path.Dir(p))
		page := "docs/results/" + name + ".md"
		text := read(tree, page)
		for what, there := range map[string]bool{
			page + ", which says what it found":           text != "",
			"a test":                                      exists(tree, "experiments/"+name+"/main_test.go"),
			"its command in " + page:                      strings.Contains(text, "./dev experiments "+name),
			"its picture in " + page:                      strings.Contains(text, "("+name) && strings.Contains(text, ".svg)"),
			"a section Not reproduced in " + page:         strings.Contains(text, "\n## Not reproduced\n"),
			"a link in docs/results/README.md to " + page: strings.Contains(read(tree, resultsPage), "("+name+".md)"),
		} {
			if !there {
				out = append(out, fmt.Sprintf("experiments/%s: has not %s.", name, what))
			}
		}
		for _, call := range experimentCall.FindAllStringSubmatch(text, -1) {
			source := read(tree, "experiments/"+call[1]+"/main.go") + read(tree, "experiments/internal/report/report.go")
			for _, flag := range resultFlag.FindAllStringSubmatch(call[2], -1) {
				if !strings.Contains(source, `"`+flag[1]+`"`) {
					out = append(out, fmt.Sprintf("%s: gives experiments/%s a flag that it has not: --%s.", page, call[1], flag[1]))
				}
			}
		}
	}
	return out
}

// TestExperimentsRefuse plants one lack at a time.
func TestExperimentsRefuse(t *testing.T) {
	t.Parallel()
	tree := func(without, page string) fs.FS {
		all := fstest.MapFS{
			"experiments/a/main.go":      {Data: []byte(`flag.String("app", "", "")`)},
			"experiments/a/main_test.go": {Data: []byte("package main")},
			"docs/results/a.md":          {Data: []byte(page)},
			resultsPage:                  {Data: []byte("[a](a.md)")},
		}
		delete(all, without)
		return all
	}
	const page = "![a](a.svg)\n`./dev experiments a --app x`\n\n## Not reproduced\n"
	if got := experimentBreaches(tree("", page)); len(got) > 0 {
		t.Errorf("refused a sound experiment: %q", got)
	}
	for _, c := range []struct{ without, page, want string }{
		{"docs/results/a.md", page, "has not docs/results/a.md"},
		{"experiments/a/main_test.go", page, "has not a test"},
		{resultsPage, page, "has not a link"},
		{"", strings.Replace(page, "experiments", "bench", 1), "has not its command"},
		{"", strings.Replace(page, "svg", "png", 1), "has not its picture"},
		{"", strings.Replace(page, "##", "#", 1), "has not a section"},
		{"", strings.Replace(page, "--app", "--fast", 1), "a flag that it has not: --fast"},
	} {
		if got := experimentBreaches(tree(c.without, c.page)); !mentions(got, c.want) {
			t.Errorf("want a sentence with %q, got %q", c.want, got)
		}
	}
}
