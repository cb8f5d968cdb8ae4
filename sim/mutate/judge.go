package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// verdict is what became of a mutant.
type verdict string

const (
	killed     verdict = "killed"
	survived   verdict = "survived"
	notGo      verdict = "does not compile"
	unclear    verdict = "unclear"    // the machine was too busy to tell
	equivalent verdict = "equivalent" // by the accepted file, not by running
)

// suite is one program of tests, or a part of them, that judges mutants.
type suite struct {
	dir     string // of the package, from the root; the folder that it runs in
	name    string // for people
	args    []string
	sound   string // its program without a mutant, to be timed again where a mutant ran out of time
	usually time.Duration
}

// file returns what its program is called.
func (s *suite) file() string { return "tests-" + strings.ReplaceAll(s.dir, "/", "-") }

// soon is the share of a suite's time that its quickest tests may take and still be a suite of their own, which comes first:
// most mutants die there. A suite that is over sooner than short stays whole.
const (
	soon  = 8
	short = 2 * time.Second
)

// parts divides a suite by how long each of its tests took.
func (s *suite) parts(took map[string]time.Duration) []*suite {
	var all, quick time.Duration
	for _, d := range took {
		all += d
	}
	names := slices.SortedFunc(maps.Keys(took), func(a, b string) int {
		return cmp.Or(cmp.Compare(took[a], took[b]), cmp.Compare(a, b))
	})
	for len(names) > 0 && soon*(quick+took[names[0]]) <= all {
		quick, names = quick+took[names[0]], names[1:]
	}
	if all < short || len(names) == 0 || len(names) == len(took) {
		return []*suite{s}
	}
	these := "^(" + strings.Join(names, "|") + ")$"
	first, second := *s, *s
	first.args, second.args = append(slices.Clone(s.args), "-test.skip", these), append(slices.Clone(s.args), "-test.run", these)
	first.usually, second.usually = min(quick, s.usually), min(all-quick, s.usually)
	return []*suite{&first, &second}
}

// judge runs mutants in a folder of its own. The tree is read, never written: the compiler gets the changed file by an
// overlay.
type judge struct {
	root      string
	scratch   string
	megabytes int // of address space for a program of tests; a mutant may ask for all there is
	shortest  time.Duration
}

// limitTimes is what a mutant's tests get as a multiple of the sound run's time, shortest what they get at least. One that
// runs out of it counts as killed only where the sound run takes under a fifth.
const limitTimes = 6

// prepare times a suite without a mutant, which must pass, and returns how long each of its tests takes. The program is that
// of all mutants where there is one: if no number is given, none of them is there.
func (j *judge) prepare(ctx context.Context, s *suite, all *together) (map[string]time.Duration, error) {
	if all != nil && len(all.number) > 0 {
		program, out, err := all.program(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s with mutants: %w\n%s", s.name, err, out)
		}
		s.sound = program
		return j.time(ctx, s)
	}
	s.sound = filepath.Join(j.scratch, s.file()+".sound")
	if out, err := j.build(ctx, s, s.sound, ""); err != nil {
		return nil, fmt.Errorf("%s without a mutant: %w\n%s", s.name, err, out)
	}
	return j.time(ctx, s)
}

// time runs a suite without a mutant, and notes how long it takes now; it returns how long each of its tests does.
func (j *judge) time(ctx context.Context, s *suite) (map[string]time.Duration, error) {
	began := time.Now()
	out := &tail{took: map[string]time.Duration{}}
	if err := j.run(ctx, s, s.sound, 30*time.Minute, out, "-test.v"); err != nil {
		return nil, fmt.Errorf("%s fails without a mutant: %w\n%s", s.name, err, out.text)
	}
	s.usually = time.Since(began)
	return out.took, nil
}

// build compiles a suite's program of tests, with what overlay puts in place of files.
func (j *judge) build(ctx context.Context, s *suite, to, overlay string) ([]byte, error) {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", to} // no debugger looks: half the time of the linker
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	c := exec.CommandContext(ctx, "go", append(args, ".")...) // in the module that the package is of
	c.Dir, c.Env = filepath.Join(j.root, s.dir), append(os.Environ(), "GOWORK=off")
	return c.CombinedOutput()
}

// errLate is the end of a run that took longer than it may.
var errLate = errors.New("ran out of time")

// run runs a program of tests in its package's folder, and ends it with all that it started when limit is over.
func (j *judge) run(ctx context.Context, s *suite, program string, limit time.Duration, out *tail, more ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	words := append([]string{"-c", "ulimit -v " + strconv.Itoa(j.megabytes<<10) + `; exec "$0" "$@"`, program,
		"-test.short", "-test.failfast", "-test.timeout", "0"}, slices.Concat(s.args, more)...)
	c := exec.CommandContext(ctx, "sh", words...)
	c.Dir = filepath.Join(j.root, s.dir)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	c.Stdout, c.Stderr = out, out
	err := c.Run()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // what its tests have left behind; mostly nothing
	}
	return err
}

// tail keeps the beginning of what a program prints: the first failure is what matters. Of all of it, it notes how long tests
// took, where it is to.
type tail struct {
	text []byte
	line []byte // that is not over
	took map[string]time.Duration
}

const tailMost = 1 << 16

var testTook = regexp.MustCompile(`^--- PASS: (\w+) \(([0-9.]+s)\)`)

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[:min(len(p), tailMost-len(t.text))]...)
	if t.took == nil {
		return len(p), nil
	}
	lines := bytes.Split(append(t.line, p...), []byte("\n"))
	for _, l := range lines[:len(lines)-1] {
		if m := testTook.FindSubmatch(l); m != nil {
			t.took[string(m[1])], _ = time.ParseDuration(string(m[2]))
		}
	}
	last := lines[len(lines)-1]
	t.line = slices.Clone(last[:min(len(last), tailMost)])
	return len(p), nil
}

// judge says what becomes of a mutant under the suites in turn, and why.
func (j *judge) judge(ctx context.Context, m *mutant, source []byte, suites []*suite, all *together) (verdict, string, error) {
	folder, err := os.MkdirTemp(j.scratch, "mutant")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(folder)
	overlay, err := j.overlay(folder, m, source)
	if err != nil {
		return "", "", err
	}
	for _, s := range suites {
		program := filepath.Join(folder, s.file())
		if all != nil && all.number[m] > 0 {
			if program, err = all.programFor(ctx, s, m, folder); err != nil {
				return "", "", err
			}
		} else if !exists(folder, filepath.Base(program)) {
			if v, why, err := j.alone(ctx, s, program, overlay); err != nil || v == notGo {
				return v, why, err
			}
		}
		v, why, err := j.under(ctx, s, program)
		if err != nil || v != survived {
			return v, why, err
		}
	}
	return survived, "", nil
}

// overlay writes the changed file and says to the compiler whose place it takes.
func (j *judge) overlay(folder string, m *mutant, source []byte) (string, error) {
	changed, name := filepath.Join(folder, "changed.go"), filepath.Join(folder, "overlay.json")
	original := filepath.Join(j.root, filepath.FromSlash(m.file))
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	return name, errors.Join(os.WriteFile(changed, m.apply(source), 0o600), os.WriteFile(name, text, 0o600))
}

// alone builds a suite's program with one mutant.
func (j *judge) alone(ctx context.Context, s *suite, program, overlay string) (verdict, string, error) {
	out, err := j.build(ctx, s, program, overlay)
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err != nil && compilers(out):
		return notGo, first(compileError, out), nil
	case err != nil:
		return "", "", fmt.Errorf("go test -c ./%s: %w\n%s", s.dir, err, out)
	}
	return "", "", nil
}

// under judges by one suite.
func (j *judge) under(ctx context.Context, s *suite, program string) (verdict, string, error) {
	why := ""
	for range 3 {
		limit := max(j.shortest, limitTimes*s.usually)
		var out tail
		err := j.run(ctx, s, program, limit, &out)
		switch {
		case ctx.Err() != nil:
			return "", "", ctx.Err()
		case err == nil:
			return survived, "", nil
		case !errors.Is(err, errLate):
			if j.repeats(ctx, s, program, limit, out.text) {
				return killed, s.name + ": " + reason(out.text, err), nil
			}
			why = ": fails now and then: " + reason(out.text, err)
			continue
		}
		why = ": not over, but the machine is busy"
		now := *s // several mutants are judged at once: the suite is not changed
		if _, err := j.time(ctx, &now); err != nil {
			if ctx.Err() != nil {
				return "", "", err
			}
			return unclear, "not over, and " + err.Error(), nil // a test that fails now and then says nothing of the mutant
		}
		if 5*now.usually < limit {
			return killed, fmt.Sprintf("%s: not over after %s; without it after %s", s.name, limit.Round(time.Second), now.usually.Round(time.Second/10)), nil
		}
		s = &now
	}
	return unclear, s.name + why, nil
}

// repeats runs a test that has failed once more, alone: one that then passes was disturbed by the machine, and no mutant is killed by that.
func (j *judge) repeats(ctx context.Context, s *suite, program string, limit time.Duration, text []byte) bool {
	name := first(failedWhole, text)
	return name == "" || j.run(ctx, s, program, limit, &tail{}, "-test.run", "^"+name+"$") != nil
}

var (
	compileError = regexp.MustCompile(`(?m)^[^ #\n]+\.go:\d+:\d+: (.*)$`)
	failedTest   = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)
	failedWhole  = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	ended        = regexp.MustCompile(`(?m)^((?:panic|fatal error): .*)$`)
	violation    = regexp.MustCompile(`(?m)^ +\S+\.go:\d+: (.*)$`)
)

// compilers says whether it was the compiler that refused, and not a full disk.
func compilers(out []byte) bool { return compileError.Match(out) }

func first(of *regexp.Regexp, out []byte) string {
	m := of.FindSubmatch(out)
	if m == nil {
		return ""
	}
	return string(bytes.TrimSpace(m[1]))
}

// reason returns the first test that failed with its sentence, or how the program ended.
func reason(out []byte, err error) string {
	name, says := first(failedTest, out), first(violation, out)
	if p := first(ended, out); p != "" {
		says = p
	}
	switch {
	case name == "" && says == "":
		return err.Error()
	case name == "":
		return says
	case says == "":
		return name
	}
	return name + ": " + says
}

// exists says whether the tree has a folder.
func exists(root, dir string) bool {
	_, err := fs.Stat(os.DirFS(root), dir)
	return err == nil
}
