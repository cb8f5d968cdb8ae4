// Command start shows what a newcomer waits for: the first byte of `bellows`, the size of the binary, and the time from a
// clone to the first line of a loss table with an empty build cache.
//
// It needs Go and git, and the modules of go.mod in Go's module cache or a proxy to get them from. It clones the
// repository that it is run in: changes that are not committed are not measured. The clone is part of --full alone.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"bellows/bench/internal/pair"
)

const (
	firstByteMillis = 100
	sizeMax         = 40e6
	cloneSeconds    = 60
)

func main() {
	options := pair.Flags()
	pair.Exit(options.Parse(5, 11))
	options.Header(os.Stdout, "start: from nothing to the first line")
	scratch, err := os.MkdirTemp("", "bellows-start-")
	pair.Exit(err)
	table := pair.NewTable(os.Stdout, options.JSON)
	err = all(table, options, scratch)
	// Go's module cache is elsewhere; what is here is ours and writable.
	os.RemoveAll(scratch)
	pair.Exit(err)
	table.Close()
}

func all(table *pair.Table, options *pair.Options, scratch string) error {
	program := filepath.Join(scratch, "bellows")
	if err := run(".", nil, "go", "build", "-trimpath", "-o", program, "bellows/cmd/bellows"); err != nil {
		return err
	}
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	table.AddFact(pair.Fact{Figure: "binary", Unit: "B", Ours: float64(info.Size()), Peer: "limit", Bound: sizeMax})
	for _, args := range [][]string{{"help"}, {"version"}, {"demo", "mf"}} {
		if err := firstBytes(table, options.Turns, program, scratch, args); err != nil {
			return err
		}
	}
	if !options.Full {
		table.Note("--full also clones and builds with an empty build cache")
		return nil
	}
	return clone(table, scratch)
}

// firstBytes shows the time from starting the program to its first byte, whether talk or data.
func firstBytes(table *pair.Table, turns int, program, scratch string, args []string) error {
	var seconds []float64
	for turn := range turns + 1 {
		took, _, err := waitFor(filepath.Join(scratch, fmt.Sprintf("run-%s-%d", args[0], turn)), nil, anything, program, args...)
		if err != nil {
			return err
		}
		if turn > 0 {
			seconds = append(seconds, took.Seconds())
		}
	}
	table.AddFact(pair.Fact{Figure: "first byte of bellows " + strings.Join(args, " "), Unit: "s", Ours: pair.SpreadOf(seconds).Median,
		Peer: "limit", Bound: firstByteMillis / 1e3})
	return nil
}

// clone does what the README says to a newcomer, with a build cache of its own.
func clone(table *pair.Table, scratch string) error {
	tree := filepath.Join(scratch, "clone")
	start := time.Now()
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("git rev-parse: %w: run this inside the repository", err)
	}
	if err := run(".", nil, "git", "clone", "-q", strings.TrimSpace(string(root)), tree); err != nil {
		return err
	}
	cache := []string{"GOCACHE=" + filepath.Join(scratch, "cache")}
	_, cpu, err := waitFor(tree, cache, firstEpoch, "go", "run", "./cmd/bellows", "demo", "mf")
	if err != nil {
		return err
	}
	table.AddFact(pair.Fact{Figure: "clone to first loss line", Unit: "s", Ours: time.Since(start).Seconds(), Peer: "limit", Bound: cloneSeconds})
	table.Note("%.0f s of CPU time, compilers included: on a machine with other load, %d cores to itself would need at least %.0f s",
		cpu.Seconds(), runtime.NumCPU(), cpu.Seconds()/float64(runtime.NumCPU()))
	return nil
}

func anything(string) bool { return true }

// firstEpoch recognises the row of the first epoch, which begins with its number.
func firstEpoch(line string) bool {
	fields := strings.Fields(line)
	return len(fields) > 2 && fields[0] == "1" && strings.Contains(fields[1], ".")
}

// waitFor starts a program in a folder, which is made when it is missing, and returns the time to the first wanted line;
// for anything, to the first byte. The program then runs to its end; cpu is what it and its children took.
func waitFor(dir string, env []string, wanted func(line string) bool, program string, args ...string) (took, cpu time.Duration, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, 0, err
	}
	command := exec.Command(program, args...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	reader, writer, err := os.Pipe()
	if err != nil {
		return 0, 0, err
	}
	defer reader.Close()
	command.Stdout, command.Stderr = writer, writer
	start := time.Now()
	err = command.Start()
	writer.Close()
	if err != nil {
		return 0, 0, err
	}
	took, last := watch(bufio.NewReader(reader), start, wanted)
	if err := command.Wait(); err != nil {
		return 0, 0, fmt.Errorf("%s %s: %w; %s", program, strings.Join(args, " "), err, last)
	}
	if took == 0 {
		return 0, 0, fmt.Errorf("%s %s: ended without the line that was waited for; %s", program, strings.Join(args, " "), last)
	}
	return took, command.ProcessState.UserTime() + command.ProcessState.SystemTime(), nil
}

// watch reads to the end; it returns when the first wanted line came (0: never), and the last line.
func watch(r *bufio.Reader, start time.Time, wanted func(string) bool) (took time.Duration, last string) {
	if _, err := r.Peek(1); err == nil && wanted("") {
		took = time.Since(start)
	}
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			last = strings.TrimSpace(line)
		}
		if took == 0 && line != "" && wanted(line) {
			took = time.Since(start)
		}
		if err != nil {
			return took, last
		}
	}
}

func run(dir string, env []string, program string, args ...string) error {
	command := exec.Command(program, args...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out)
	}
	return nil
}
