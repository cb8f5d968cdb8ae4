package bellows_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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

// TestEndOfStepNamesItsCause plays steps that are too slow, that hang and that fail to ./dev step: its message tells them apart.
func TestEndOfStepNamesItsCause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, seconds, script, want string
	}{
		{"slow", "1", "echo working; sleep 30", "a step was ended after 1 s, the limit for a machine five times slower than the slowest one measured.\nNo test hung:"},
		{"hangs", "60", "echo 'panic: test timed out after 30s'; echo 'goroutine 7 [select]:'; exit 1", "a step: a test hangs. It is named after 'panic: test timed out' above"},
		{"fails", "60", "echo '--- FAIL: TestX'; exit 1", "a step failed, as shown above"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), "./dev", "step", "a step", c.seconds, "sh", "-c", c.script).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("ended with %v, want %q in\n%s", err, c.want, out)
			}
		})
	}
}

// TestFunctionsOfDevAreDefinedOnce looks for functions with two definitions: in a shell, the last replaces the first.
func TestFunctionsOfDevAreDefinedOnce(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("dev")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)\(\)`).FindAllStringSubmatch(string(text), -1) {
		if seen[m[1]] {
			t.Errorf("./dev defines %s twice", m[1])
		}
		seen[m[1]] = true
	}
	if len(seen) < 20 {
		t.Errorf("./dev defines %d functions, which cannot be all", len(seen))
	}
}

// TestChoresLeaveNoFolder checks that the temporary folder of a chore is gone when it ends.
func TestChoresLeaveNoFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := exec.CommandContext(t.Context(), "./dev", "step", "a step", "60", "true")
	run.Env = append(os.Environ(), "TMPDIR="+dir)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

// TestAStepBesideOthersIsAwaited runs a step beside others that fails: waiting for it shows its output, and ends with its status.
func TestAStepBesideOthersIsAwaited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "./dev", "beside", dir, "sh", "-c", "echo found; exit 3").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "./dev", "await", dir).CombinedOutput()
	if code := (*exec.ExitError)(nil); !errors.As(err, &code) || code.ExitCode() != 3 || string(out) != "found\n" {
		t.Errorf("ended with %v and %q, want status 3 and the output", err, out)
	}
}

// TestFuzzProgramsKeepTheirFolder keeps two programs of one name.
func TestFuzzProgramsKeepTheirFolder(t *testing.T) {
	t.Parallel()
	kept, program := t.TempDir(), filepath.Join(t.TempDir(), "wire.test")
	dev, err := filepath.Abs("dev")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{".", "link/wire"} {
		if err := os.WriteFile(program, []byte(folder), 0o700); err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), dev, "keep_program", program, "-test.timeout=10m0s")
		run.Dir, run.Env = folder, append(os.Environ(), "DEV_KEEP="+kept)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, folder := range []string{".", "link/wire"} {
		if text, err := os.ReadFile(filepath.Join(kept, folder, "fuzz.test")); err != nil || string(text) != folder {
			t.Errorf("the program of %s is %q, %v", folder, text, err)
		}
	}
}

// TestEveryStepOfASoakIsTaken lets the first and the third of four steps fail.
func TestEveryStepOfASoakIsTaken(t *testing.T) {
	t.Parallel()
	plan := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(plan, []byte("one|nonsense\ntwo|help\nthree|nonsense\nfour|help\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "./dev", "each", plan).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "failed: one, three. ") || !regexp.MustCompile(`(?m)^four +\d+ s$`).Match(out) {
		t.Errorf("ended with %v\n%s", err, out)
	}
}

// TestEstimateIsScaled gives ./dev estimate a machine like the slowest one measured, and one twice as fast.
func TestEstimateIsScaled(t *testing.T) {
	t.Parallel()
	reference := regexp.MustCompile(`(?m)^reference_speed=(\d+)$`).FindStringSubmatch(read(os.DirFS("."), "dev"))
	if reference == nil {
		t.Fatal("dev has no reference_speed")
	}
	runs, _ := strconv.Atoi(reference[1])
	minutes := func(runs int) (warm, cold int) {
		out, err := exec.CommandContext(t.Context(), "./dev", "estimate", strconv.Itoa(runs)).CombinedOutput()
		if _, scanErr := fmt.Sscanf(string(out), "about %d minutes on this machine, %d where nothing was compiled before", &warm, &cold); err != nil || scanErr != nil {
			t.Fatalf("%v, %v: %s", err, scanErr, out)
		}
		return warm, cold
	}
	warm, cold := minutes(runs)
	if half, _ := minutes(2 * runs); warm > 12 || cold > 22 || 2*half < warm-1 || 2*half > warm+1 {
		t.Errorf("%d minutes, %d with an empty cache, and %d on a machine twice as fast: at most 12 and 22 are allowed there, and half as long", warm, cold, half)
	}
}
