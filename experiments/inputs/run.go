package inputs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// input is one input while it is drawn and run.
type input struct {
	*Sweep
	rand   *rand.Rand
	folder string
	cell   []string
	bare   bool // tables as text have no header
	report Report
	err    error // the first file that could not be written
}

// result is what one command wrote.
type result struct {
	code     int
	out, err string
}

// pick returns one of the values.
func pick[T any](in *input, values ...T) T { return values[in.rand.IntN(len(values))] }

// one reports true once in n times.
func (in *input) one(n int) bool { return in.rand.IntN(n) == 0 }

// describe adds to the name of the cell.
func (in *input) describe(words ...string) { in.cell = append(in.cell, words...) }

// wrong records a finding.
func (in *input) wrong(format string, args ...any) {
	in.report.Findings = append(in.report.Findings, fmt.Sprintf(format, args...))
}

// path returns the name of a file in the folder of the input.
func (in *input) path(name string) string { return filepath.Join(in.folder, name) }

// save writes a file.
func (in *input) save(name string, data []byte) string {
	p := in.path(name)
	old := time.Now().Add(-time.Hour) // a file that was just written is not stored
	in.err = errors.Join(in.err, os.WriteFile(p, data, 0o666), os.Chtimes(p, old, old))
	return p
}

// lines returns the lines of a file of a model.
func (in *input) lines(name string) []string {
	data, err := os.ReadFile(in.path(name))
	if err != nil {
		in.wrong("%s is not there: %v", name, err)
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// command returns the command of bellows with arguments, and keeps its text.
func (in *input) command(args ...string) *exec.Cmd {
	quoted := []string{"bellows"}
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " ,;|*?'\\\"$%<>") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted = append(quoted, a)
	}
	in.report.Commands = append(in.report.Commands, strings.Join(quoted, " "))
	c := exec.Command(in.Command[0], append(in.Command[1:len(in.Command):len(in.Command)], args...)...)
	c.Env = append(os.Environ(), in.Environ...)
	return c
}

// bellows runs the command.
func (in *input) bellows(args ...string) result {
	c := in.command(args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		in.err = errors.Join(in.err, err)
	}
	return result{c.ProcessState.ExitCode(), out.String(), errs.String()}
}

// position is what names a place in a file: line and column, the line alone of a row as a whole, or a row and a column of a file with columns.
var position = regexp.MustCompile(`\.[a-z.]+:[0-9]+(:[0-9]+)?: |: row [0-9]+: .* column "`)

// refused reports whether the command refused its input. A refusal must have one of the codes 64 and 65, and a place or one of the names.
func (in *input) refused(r result, names ...string) bool {
	if r.code == 0 {
		return false
	}
	said := strings.TrimSpace(r.err)
	if in.report.Outcome = "refused"; in.report.Message == "" {
		in.report.Message = strings.ReplaceAll(said, in.folder+"/", "")
		if len(in.report.Message) > 300 {
			in.report.Message = in.report.Message[:300]
		}
	}
	named := position.MatchString(said)
	for _, n := range names {
		named = named || strings.Contains(said, n)
	}
	if r.code != 64 && r.code != 65 || !named {
		in.wrong("exit code %d without a place or a name: %s", r.code, said)
	}
	return true
}

// mustRefuse records a finding unless the command refused its input.
func (in *input) mustRefuse(r result, names ...string) {
	if !in.refused(r, names...) {
		in.wrong("exit code 0, want a refusal of %s: %.300s", strings.Join(names, ", "), r.err+r.out)
	}
}

// mustRead records a finding if the command refused an input that documentation promises to read.
func (in *input) mustRead(r result) bool {
	if r.code == 0 {
		return true
	}
	in.wrong("exit code %d, want 0: %.500s", r.code, r.err)
	return false
}

// answer is what the last line of a command with --json has.
type answer struct {
	Metrics  map[string]float64
	Missing  int
	Unknown  map[string]int
	Warnings []string
	Classes  []struct{ Label json.RawMessage }
}

// last decodes the last line of standard output.
func (in *input) last(r result) (a answer) {
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &a); err != nil {
		in.wrong("the last line is no JSON: %v: %.200s", err, lines[len(lines)-1])
	}
	return a
}

// train trains a model in the folder of the input, and returns what the command wrote. Some inputs are trained again from stored columns.
func (in *input) train(app, file string, args ...string) result {
	cache := "off"
	if in.one(5) {
		cache = in.path("cache")
	}
	args = append([]string{"train", app, file, "--out", in.path("model"), "--fresh", "--json", "--cache", cache}, args...)
	r := in.bellows(args...)
	if cache == "off" || r.code != 0 {
		return r
	}
	again := in.bellows(args...)
	if !in.mustRead(again) {
		return r
	}
	a, b := in.last(r), in.last(again)
	if fmt.Sprint(a.Metrics, a.Missing) != fmt.Sprint(b.Metrics, b.Missing) {
		in.wrong("trained again from stored columns: %v, %d missing; at first %v, %d", b.Metrics, b.Missing, a.Metrics, a.Missing)
	}
	return again
}

// eval scores the model.
func (in *input) eval(file string, args ...string) (answer, bool) {
	r := in.bellows(append([]string{"eval", in.path("model"), file, "--json"}, args...)...)
	if !in.mustRead(r) {
		return answer{}, false
	}
	return in.last(r), true
}

// predict returns the first field of each predicted row.
func (in *input) predict(file string, args ...string) []string {
	r := in.bellows(append([]string{"predict", in.path("model"), file}, args...)...)
	if !in.mustRead(r) {
		return nil
	}
	var out []string
	for line := range strings.Lines(r.out) {
		first, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		out = append(out, first)
	}
	return out
}

// warned marks the input as warned of if a warning has one of the words.
func (in *input) warned(a answer, words ...string) bool {
	for _, w := range a.Warnings {
		for _, word := range words {
			if strings.Contains(w, word) {
				in.report.Outcome, in.report.Message = "warned", w
				return true
			}
		}
	}
	return false
}
