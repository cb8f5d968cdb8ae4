package pair

import (
	"flag"
	"io"
	"strings"
	"testing"
)

// listed returns two programs that share a flag, and note what they were given.
func listed(got map[string]string) []Program {
	define := func(name string, more string) func(*flag.FlagSet) func(*Bench) {
		return func(flags *flag.FlagSet) func(*Bench) {
			data := flags.String("data", name, "")
			flags.Bool(more, false, "")
			return func(b *Bench) { got[name] = *data + b.Part }
		}
	}
	return []Program{{Name: "one", Define: define("one", "fast")}, {Name: "two", Define: define("two", "slow")}}
}

func TestOnlyChoosesPrograms(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"": "one two", "--only two": "two", "--json --only=two,one": "one two", "-only two/cuts --full": "two/cuts", "--only three": ""} {
		chosen, err := choose(listed(nil), onlyOf(strings.Fields(line)))
		var names []string
		for _, c := range chosen {
			names = append(names, strings.TrimSuffix(c.Name+"/"+c.part, "/"))
		}
		if got := strings.Join(names, " "); got != want || (err != nil) != (want == "") {
			t.Errorf("%q chooses %q, %v; want %q", line, got, err, want)
		}
	}
}

func TestFlagsAreSetForEachProgram(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]map[string]string{
		"":                       {"one": "one", "two": "two"},
		"--data x --fast --slow": {"one": "x", "two": "x"},
		"--rapid":                nil,
	} {
		got, flags := map[string]string{}, flag.NewFlagSet("", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		chosen, err := choose(listed(got), "")
		if err != nil {
			t.Fatal(err)
		}
		runs := defineAll(chosen, flags)
		if err := flags.Parse(strings.Fields(line)); (err != nil) != (want == nil) {
			t.Errorf("%q: %v", line, err)
			continue
		}
		for _, run := range runs {
			run(&Bench{})
		}
		if want != nil && (got["one"] != want["one"] || got["two"] != want["two"]) {
			t.Errorf("%q: the programs got %v, want %v", line, got, want)
		}
	}
}
