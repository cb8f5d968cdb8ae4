package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guide is the page with the program that this test builds as its reader would: in a separate module.
const guide = "../docs/8-your-own-application.md"

// TestTheGuideHoldsOutsideTheTree makes a module of the page's go.mod and program in another folder, builds it without a
// network, and runs its commands.
func TestTheGuideHoldsOutsideTheTree(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	// What `go build -mod=mod` would look up: it needs no network if it is there.
	required := "\n" + strings.Join(regexp.MustCompile(`(?ms)^require \(.*?^\)\n`).FindAllString(string(own), -1), "")
	// Replaced modules are perhaps not in the cache.
	for _, replaced := range regexp.MustCompile(`(?m)^replace .*=> \./.*$`).FindAllString(string(own), -1) {
		required += strings.Replace(replaced, "=> .", "=> "+root, 1) + "\n"
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var ratings strings.Builder
	for n := range 40 {
		fmt.Fprintf(&ratings, "u%d\ti%d\t%d\n", n/4, n%4, n%4+1)
	}
	files := map[string]string{"ratings.tsv": ratings.String(), "pairs.tsv": "u1\ti3\nu2\ti0\n", "go.sum": string(sums)}
	var calls string
	for _, block := range regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		switch text := block[1]; {
		case strings.HasPrefix(text, "module "):
			if want := regexp.MustCompile(`(?m)^go .*$`).FindString(string(own)); !strings.Contains(text, "\n"+want+"\n") {
				t.Errorf("the page's go.mod does not have %q", want)
			}
			files["go.mod"] = strings.Replace(text, "=> ../bellows", "=> "+root, 1) + required
		case strings.Contains(text, "\npackage main\n"):
			files["main.go"] = text
		case strings.HasPrefix(text, "./means"):
			calls = text
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off", "GOPROXY=off",
		"XDG_STATE_HOME="+filepath.Join(dir, ".state"), "XDG_CACHE_HOME="+filepath.Join(dir, ".cached"))
	run := func(words ...string) string {
		t.Helper()
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = dir, env
		if words[0] == "go" {
			cmd.Env = env[:len(env)-1] // the build's own cache
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", words, err, out)
		}
		return string(out)
	}
	run("go", "build")
	wants := []string{"\ntest RMSE 0.0000 · ", "proved: each of the 40 items of 4 splits", "rmse         0.0000\n", "4\n1\n", "Usage:\n  means [flags]"}
	lines := strings.Split(strings.TrimSpace(calls), "\n")
	if len(lines) != len(wants) {
		t.Fatalf("the page has the commands %q", lines)
	}
	if out := run("./means", "version"); !strings.HasPrefix(out, "bellows v0.0.0\n") {
		t.Errorf("the version of a program in another module is %q", out)
	}
	for i, line := range lines {
		if out := run(strings.Fields(line)...); !strings.Contains(out, wants[i]) {
			t.Errorf("%s gives %q, want %q", line, out, wants[i])
		}
	}
}
