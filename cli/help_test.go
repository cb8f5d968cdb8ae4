package cli

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"bellows/app"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/cli/internal/manual"
	"bellows/cli/internal/verbs"

	"github.com/spf13/cobra"
)

// screens is the number of lines of the two screens that the help of a training command may fill.
const screens = 100

// shipped returns the commands and applications of the command bellows.
func shipped(t *testing.T) (*cobra.Command, []app.Description) {
	t.Helper()
	tool, err := verbs.New(console(io.Discard), mf.New(), mlr.New(), lda.New(), linear.New())
	if err != nil {
		t.Fatal(err)
	}
	return newRoot(tool), tool.Descriptions()
}

// each calls a function for a command and the visible ones below it, without those of cobra's completion.
func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "completion" {
			each(sub, visit)
		}
	}
}

// TestHelpLinesAreShort checks that a line of help, and the text of a command, a flag or a setting, has at most 90
// columns, and that the help of a training command fits on two screens.
func TestHelpLinesAreShort(t *testing.T) {
	t.Parallel()
	root, _ := shipped(t)
	each(root, func(cmd *cobra.Command) {
		var text bytes.Buffer
		cmd.SetOut(&text)
		cmd.InitDefaultHelpFlag()
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(text.String(), "\n")
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > manual.Width && !strings.HasPrefix(line, "  bellows ") {
				t.Errorf("%s --help: a line has %d columns, more than %d: %s", cmd.CommandPath(), n, manual.Width, line)
			}
		}
		if len(lines) > screens {
			t.Errorf("%s --help has %d lines, more than %d", cmd.CommandPath(), len(lines), screens)
		}
		training := cmd.HasParent() && cmd.Parent().Name() == "train" // which begins with a first run
		if strings.Contains(cmd.Long, "\n") && !training && cmd.Name() != "exit-codes" {
			t.Errorf("%s: its long text has several lines; move the others to line.Details", cmd.CommandPath())
		}
		if strings.Contains(cmd.Short, "\n") {
			t.Errorf("%s: its short text has several lines", cmd.CommandPath())
		}
	})
}

// TestHelpBeginsWithAFirstRun checks that the first ten lines of the help of a training command name a command that
// works, where the model goes, and three flags.
func TestHelpBeginsWithAFirstRun(t *testing.T) {
	t.Parallel()
	root, apps := shipped(t)
	for _, d := range apps {
		cmd, _, err := root.Find([]string{"train", d.Name})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		cmd.SetOut(&text)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		first := strings.Join(strings.SplitN(text.String(), "\n", 11)[:10], "\n")
		wants := []string{"\n  bellows train " + d.Name + " ", "runs/" + d.Name + "-1", "resumes", "\n  --test FILE ", "\n  --set NAME=VALUE "}
		for _, want := range wants {
			if !strings.Contains(first, want) {
				t.Errorf("the first ten lines of train %s --help lack %q:\n%s", d.Name, want, first)
			}
		}
	}
}

// TestSettingsAreExplained checks that each setting has a line and a full explanation, and that the page which help
// names exists.
func TestSettingsAreExplained(t *testing.T) {
	t.Parallel()
	_, apps := shipped(t)
	for _, d := range apps {
		if _, err := os.Stat(filepath.Join("..", d.Page)); err != nil || d.Page == "" {
			t.Errorf("%s: the page of its settings: %v", d.Name, err)
		}
		for _, s := range d.Settings {
			if s.Reason == "" || !strings.HasSuffix(s.Details, ".") {
				t.Errorf("the setting %s of %s is not explained: %q, %q", s.Name, d.Name, s.Reason, s.Details)
			}
		}
	}
}

// TestFlagTextsNameFlags checks that each explanation of a flag belongs to a flag, and that pages named in
// explanations exist.
func TestFlagTextsNameFlags(t *testing.T) {
	t.Parallel()
	root, _ := shipped(t)
	used := map[string]bool{}
	for _, f := range manual.Flags(root) {
		used[f.Details] = true
		for word := range strings.FieldsSeq(f.Details) {
			if word = strings.Trim(word, ".,;:"); strings.HasPrefix(word, "docs/") {
				if _, err := os.Stat(filepath.Join("..", word)); err != nil {
					t.Errorf("the explanation of --%s names a page: %v", f.Name, err)
				}
			}
		}
	}
	for key, text := range manual.FlagTexts() {
		if !used[text] {
			t.Errorf("the explanation of %q belongs to no flag", key)
		}
	}
}

// TestSettingsPage compares docs/12-settings.md with the explanations that `help` prints: go test ./cli -run
// TestSettingsPage -update writes it again.
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	root, apps := shipped(t)
	want := settingsPage(root, apps)
	file := filepath.Join("..", "docs", "12-settings.md")
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s differs from the texts of the program; `go test ./cli -run TestSettingsPage -update` writes it", file)
	}
}

// flagsOfPages has the flags that other pages explain.
var flagsOfPages = map[string]struct {
	title string
	flags []string
}{
	"3-formats.md": {"Formats", []string{"cache", "categorical", "checkpoint", "checkpoint-every", "format", "hash-bits", "holdout", "ignore", "missing",
		"ngrams", "quadratic", "stop-words", "time", "weight"}},
	"4-consistency.md":   {"Consistency", []string{"staleness"}},
	"6-observing.md":     {"Watching a job", []string{"metrics"}},
	"9-local-cluster.md": {"A local cluster", []string{"etcd", "etcd-prefix", "notice", "token"}},
	"10-predicting.md":   {"Predicting", []string{"listen", "look", "max-connections", "max-requests"}},
}

// elsewhere reports whether another page explains a flag.
func elsewhere(flag string) bool {
	for _, p := range flagsOfPages {
		if slices.Contains(p.flags, flag) {
			return true
		}
	}
	return false
}

// TestPagesExplainTheirFlags checks that each page names the flags that the page of settings leaves to it.
func TestPagesExplainTheirFlags(t *testing.T) {
	t.Parallel()
	for name, p := range flagsOfPages {
		page, err := os.ReadFile(filepath.Join("..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range p.flags {
			if !strings.Contains(string(page), "--"+flag) {
				t.Errorf("%s does not explain --%s", name, flag)
			}
		}
	}
}

// settingsPage writes the page of settings and flags.
func settingsPage(root *cobra.Command, apps []app.Description) string {
	var b strings.Builder
	b.WriteString(`# Settings and flags

After this page you can look up any setting of ` + "`train`" + `, and flags that need more than a line. The program
prints the same texts:

` + "```" + `
bellows help l2            # a setting, of each application that has it
bellows help linear l2     # of one application
bellows help linear        # all settings of an application
bellows help train notice  # a flag
` + "```" + `

` + "`--set NAME=VALUE`" + ` changes a setting. Defaults are shown; ` + "`auto`" + `: the application chooses.
` + "`go test ./cli -run TestSettingsPage -update`" + ` writes this page.
`)
	first := map[string]app.Description{} // the application that explains a setting first
	texts := map[string]string{}
	for _, d := range apps {
		fmt.Fprintf(&b, "\n## Settings of %s\n\n", d.Name)
		for _, s := range d.Settings {
			details := s.Details
			if rest, same := strings.CutPrefix(details, texts[s.Name]); same && len(texts[s.Name]) > 100 {
				details = "As in " + first[s.Name].Name + "." + rest
			} else if texts[s.Name] == "" {
				first[s.Name], texts[s.Name] = d, details
			}
			fmt.Fprintf(&b, "* `%s=%s`: %s. %s\n", s.Name, s.Default, s.Reason, details)
		}
	}
	b.WriteString("\n## Flags on other pages\n\n")
	for _, page := range slices.Sorted(maps.Keys(flagsOfPages)) {
		fmt.Fprintf(&b, "* [%s](%s): `--%s`\n", flagsOfPages[page].title, page, strings.Join(flagsOfPages[page].flags, "`, `--"))
	}
	above := map[string]string{} // the last explanation of a flag
	flags := slices.DeleteFunc(manual.Flags(root), func(f manual.Flag) bool { return f.Details == "" || elsewhere(f.Name) })
	for _, group := range []struct {
		title string
		has   func(manual.Flag) bool
	}{
		{"Flags of train and demo", func(f manual.Flag) bool { return trains(f) && len(f.Commands) > 12 }},
		{"Flags of commands that read DATA, and of some trainings", func(f manual.Flag) bool {
			return len(f.Commands) > 3 && !(trains(f) && len(f.Commands) > 12) && reads(f)
		}},
		{"Other flags", func(manual.Flag) bool { return true }},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n", group.title)
		for _, f := range flags {
			if !group.has(f) {
				continue
			}
			holders, details := "", f.Details
			if group.title == "Other flags" {
				holders = " (" + strings.ReplaceAll(f.Holders(), "bellows ", "") + ")"
			}
			if above[f.Name] == details {
				details = "As above."
			}
			fmt.Fprintf(&b, "* `%s`%s: %s. %s\n", f.Heading, holders, f.Line, details)
			above[f.Name] = f.Details
		}
		flags = slices.DeleteFunc(flags, group.has)
	}
	return b.String()
}

// trains reports whether only training commands have a flag.
func trains(f manual.Flag) bool {
	return !slices.ContainsFunc(f.Commands, func(c string) bool {
		return !strings.HasPrefix(c, "bellows train ") && !strings.HasPrefix(c, "bellows demo ")
	})
}

// reads reports whether commands that read DATA have a flag.
func reads(f manual.Flag) bool {
	return slices.ContainsFunc(f.Commands, func(c string) bool { return c == "bellows predict" || strings.HasPrefix(c, "bellows train ") })
}
