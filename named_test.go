package bellows_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// namedTest is the name of a test in a comment or on a page.
var namedTest = regexp.MustCompile(`\bTest[A-Z]\w*[a-z]\w*`)

// declaredTest is the first line of a test.
var declaredTest = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// TestNamedTestsExist wants every test that a comment or a page names to exist: an invariant without its test is a
// wish.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	for _, breach := range missingTests(t, os.DirFS(".")) {
		t.Error(breach)
	}
}

func missingTests(t *testing.T, fsys fs.FS) (out []string) {
	tr, err := load(fsys, house{rooms: rooms, edges: edges})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	err = fs.WalkDir(fsys, ".", func(name string, _ fs.DirEntry, err error) error { // also those of nested modules
		if err == nil && strings.HasSuffix(name, "_test.go") {
			for _, found := range declaredTest.FindAllStringSubmatch(read(fsys, name), -1) {
				there[found[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	look := func(where, text string) {
		for _, name := range namedTest.FindAllString(text, -1) {
			if !there[name] {
				out = append(out, fmt.Sprintf("%s names %s, which is no test", where, name))
			}
		}
	}
	for f := range tr.sources() {
		for _, c := range f.syntax.Comments {
			if !f.test {
				look(f.name, c.Text())
			}
		}
	}
	err = fs.WalkDir(fsys, "docs", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" {
			look(name, strings.ReplaceAll(read(fsys, name), "\n", " "))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMissingTestsAreNamed plants names in a comment and on a page.
func TestMissingTestsAreNamed(t *testing.T) {
	t.Parallel()
	got := missingTests(t, mapFS(map[string]string{
		"gate/a.go":      "// Package gate admits (TestThatIsThere, TestThatIsNot).\npackage gate\n",
		"gate/a_test.go": "package gate\n\nfunc TestThatIsThere() {}\n",
		"docs/a.md":      "Held by TestThatWasThere.\n",
	}))
	want := []string{"gate/a.go names TestThatIsNot, which is no test", "docs/a.md names TestThatWasThere, which is no test"}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("%q, not %q", got, want)
	}
}
