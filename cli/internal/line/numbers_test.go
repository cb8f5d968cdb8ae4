package line

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// counted returns a command with a flag of each sort of number.
func counted() *cobra.Command {
	root, cmd := &cobra.Command{Use: "bellows"}, &cobra.Command{Use: "train"}
	root.AddCommand(cmd)
	f := cmd.Flags()
	f.Int("epochs", 0, "")
	AtLeast(f, "epochs", 1, "leave it out to stop when the error stops falling")
	f.Int("node", -1, "")
	f.Int64("bytes", 7, "")
	f.Uint64("seed", 1, "")
	f.Duration("notice", time.Second, "")
	Lay(root)
	return cmd
}

func TestNumbersOfFlags(t *testing.T) {
	t.Parallel()
	cases := []struct{ flag, value, wrong string }{
		{"epochs", "12", ""},
		{"epochs", "0", "it must be at least 1; leave it out to stop when the error stops falling"},
		{"epochs", "-3", "at least 1"},
		{"epochs", "010", "whole number"},
		{"epochs", "0x10", "whole number"},
		{"epochs", "1_0", "whole number"},
		{"epochs", "1e3", "whole number"},
		{"epochs", "NaN", "whole number"},
		{"epochs", "Inf", "whole number"},
		{"epochs", "", "whole number"},
		{"epochs", "99999999999999999999", "too large"},
		{"node", "0", ""},
		{"node", "-1", ""},
		{"node", "-2", "at least -1"},
		{"bytes", "-1", "not below 0"},
		{"bytes", "1000000", ""},
		{"seed", "18446744073709551615", ""},
		{"seed", "18446744073709551616", "too large"},
		{"seed", "-1", "not below 0"},
		{"notice", "-1s", "not be below 0"},
		{"notice", "1500ms", ""},
		{"notice", "5", "with its unit"},
		{"notice", "NaNs", "with its unit"},
	}
	for _, c := range cases {
		layers := map[string]func() error{
			"the command line": func() error {
				cmd := counted()
				if err := cmd.ParseFlags([]string{"--" + c.flag + "=" + c.value}); err != nil {
					return flagError(cmd, err)
				}
				return nil
			},
			"the environment": func() error {
				return fillFromEnvironment(counted(), []string{variable(c.flag) + "=" + c.value})
			},
			"the file": func() error {
				return fillFromText(counted(), "f.yaml", []byte(c.flag+": \""+c.value+"\"\n"))
			},
		}
		for layer, give := range layers {
			err := give()
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("--%s=%s from %s: the error is %v, want %q", c.flag, c.value, layer, err, c.wrong)
			}
		}
	}
}

func TestFinite(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"NaN", "nan", "Inf", "-Inf", "infinity", "1e400", "-1e400", "", "1,5", "5%"} {
		if x, err := Finite(text); err == nil {
			t.Errorf("%q is %g", text, x)
		}
	}
	for text, want := range map[string]float64{"0.5": 0.5, ".5": 0.5, "-2e-3": -2e-3, "1e-400": 0} {
		if x, err := Finite(text); err != nil || x != want {
			t.Errorf("%q is %g, %v", text, x, err)
		}
	}
}
