package bellows_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFuzzTargetsEndIsNamed plays ends of a fuzz target to ./dev fuzz: it names an input only where one was written, and
// says of one that was cut off that it was.
func TestAFuzzTargetsEndIsNamed(t *testing.T) {
	t.Parallel()
	const written = "    Failing input written to testdata/fuzz/FuzzX/0a1b\n"
	for _, c := range []struct {
		name, says, want string
		status           string
	}{
		{name: "passes", says: "PASS\n", status: "0"},
		{name: "ends at its own deadline", says: "--- FAIL: FuzzX\n    context deadline exceeded\nFAIL\n", status: "1"},
		{name: "finds an input", says: written, status: "1", want: "FuzzX in ./wire failed: the input is ./wire/testdata/fuzz/FuzzX/0a1b,"},
		{name: "finds an input late", says: written + "    context deadline exceeded\n", status: "1", want: "the input is ./wire/testdata/fuzz/FuzzX/0a1b,"},
		{name: "fails on a seed", says: "failure while testing seed corpus entry: FuzzX/seed#0\n", status: "1", want: "failed, as shown above, and wrote no input"},
		{name: "is cut off", says: "fuzz: elapsed: 3s\n", status: "124", want: "FuzzX in ./wire ran out of time: it was to fuzz for 3 s and was ended after 123 s. No input was written"},
		{name: "is killed", says: "fuzz: elapsed: 3s\n", status: "137", want: "ran out of time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tools := t.TempDir()
			script := "#!/bin/sh\ncat <<'TEXT'\n" + c.says + "TEXT\nexit " + c.status + "\n"
			if err := os.WriteFile(filepath.Join(tools, "timeout"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), "./dev", "fuzz_target", tools, "3", "./wire", "FuzzX")
			run.Env = append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := run.CombinedOutput()
			if (err != nil) != (c.want != "") {
				t.Errorf("ended with %v:\n%s", err, out)
			}
			if !strings.Contains(string(out), c.want) {
				t.Errorf("want %q in\n%s", c.want, out)
			}
			if c.status != "1" && strings.Contains(string(out), "testdata") {
				t.Errorf("names an input that nothing wrote:\n%s", out)
			}
		})
	}
}
