package line

import (
	"strings"
	"testing"

	"bellows"

	"github.com/spf13/cobra"
)

// trainMF returns a command of a fresh tree, with a flag of each sort.
func trainMF() *cobra.Command {
	root, cmd := &cobra.Command{Use: "bellows"}, &cobra.Command{Use: "train"}
	root.AddCommand(cmd)
	cmd.Flags().StringArray("test", nil, "")
	cmd.Flags().Var(new(Settings), "set", "")
	cmd.Flags().Bool("fresh", false, "")
	cmd.Flags().Int("epochs", 0, "")
	return cmd
}

func TestFileFillsLists(t *testing.T) {
	t.Parallel()
	cmd := trainMF()
	text := "test: [a.tsv, b.tsv]\nset: {rank: 3, lr: 0.1}\nfresh: true\nunknown_to_mf: 1\n"
	err := fillFromText(cmd, "f.yaml", []byte(text))
	if err == nil || !strings.Contains(err.Error(), `f.yaml:4:1: unknown key "unknown_to_mf"`) {
		t.Fatalf("the error is %v", err)
	}
	for name, want := range map[string]string{"test": "[a.tsv,b.tsv]", "set": "lr=0.1,rank=3", "fresh": "true"} {
		if got := cmd.Flag(name).Value.String(); got != want {
			t.Errorf("--%s is %s, not %s", name, got, want)
		}
	}
}

// FuzzConfigFile wants every file to be read or refused as configuration, never anything else.
func FuzzConfigFile(f *testing.F) {
	f.Add([]byte("epochs: 3\nset:\n  rank: 4\ntest: [a, b]\n"))
	f.Add([]byte("a: &a [*a]\nset: *a\n"))
	f.Add([]byte("? [x]\n: y\n"))
	f.Add([]byte("---\n...\n- 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		err := fillFromText(trainMF(), "f.yaml", text)
		if err != nil && (bellows.KindOf(err) != bellows.Config || !strings.HasPrefix(err.Error(), "read f.yaml")) {
			t.Fatalf("%q gives %v", text, err)
		}
	})
}

// TestAskedBeforeParsing finds a flag on lines that cannot be parsed.
func TestAskedBeforeParsing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, environ string
		want          bool
	}{
		{"train x --bogus --json", "", true},
		{"--json train", "", true},
		{"train --json=false", "BELLOWS_JSON=1", false},
		{"train", "BELLOWS_JSON=true", true},
		{"train", "BELLOWS_JSON=perhaps", false},
		{"train -- --json", "", false},
		{"train --jsonl", "", false},
	} {
		if got := Asked(strings.Fields(c.args), strings.Fields(c.environ), "json"); got != c.want {
			t.Errorf("%s, %s: %v", c.args, c.environ, got)
		}
	}
	for _, c := range []struct {
		args, environ string
		want          bool
	}{{"--fresh", "", false}, {"--fresh", "BELLOWS_FRESH=1", true}, {"--config=a.yaml", "", true}, {"--config a.yaml", "", true}, {"", "BELLOWS_CONFIG=a.yaml", true}} {
		if got := Beneath(strings.Fields(c.args), strings.Fields(c.environ), "fresh"); got != c.want {
			t.Errorf("%s, %s: %v", c.args, c.environ, got)
		}
	}
}

// TestValuesOfSettingsMayHaveCommas: what does not look like a setting belongs to the value before it.
func TestValuesOfSettingsMayHaveCommas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"weights=a:2,b:3":              "weights=a:2,b:3",
		"weights=>50K:3,<=50K:1, b=4":  "b=4,weights=>50K:3,<=50K:1",
		"b=1,weights=yes:2, no way:.5": "b=1,weights=yes:2, no way:.5",
		"a=1,b=2,a=3":                  "a=3,b=2",
	} {
		var s Settings
		if err := s.Set(text); err != nil || s.String() != want {
			t.Errorf("%s becomes %s, want %s (%v)", text, s.String(), want, err)
		}
	}
	for _, text := range []string{"", "rank", "=4", ",rank=4"} {
		var s Settings
		if err := s.Set(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
