package pair

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Child is a contender in another process. It reads one request a line and answers each with one line: numbers
// separated by blanks, or "error" and a sentence.
type Child struct {
	name    string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	stderr  buffer

	note      func(format string, args ...any) // prints which kernels its OpenBLAS uses; nil: they are not checked
	force     string                           // kernels that its OpenBLAS is forced to use
	core      string                           // kernels that it uses; "": not known yet
	libraries func() string
}

// Start runs a program as a child. If it uses OpenBLAS, its kernels must be made for this CPU or be those of --openblas: a note names them, and
// the request that finds generic ones fails.
func (b *Bench) Start(name, program string, args ...string) (*Child, error) {
	return start(&Child{name: name, note: b.Note, force: b.OpenBLAS}, program, args...)
}

// Start runs a program as a child with every thread pool that it may have pinned to one thread.
func Start(name, program string, args ...string) (*Child, error) {
	return start(&Child{name: name}, program, args...)
}

func start(c *Child, program string, args ...string) (*Child, error) {
	c.command = exec.Command(program, args...)
	c.command.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1", "OPENBLAS_VERBOSE=2")
	if c.force != "" {
		c.command.Env = append(c.command.Env, "OPENBLAS_CORETYPE="+c.force)
	}
	c.command.Stderr = &c.stderr
	out, err := c.command.StdoutPipe()
	if err == nil {
		c.in, err = c.command.StdinPipe()
	}
	if err == nil {
		err = c.command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("pair: start %s: %w", c.name, err)
	}
	c.out, c.libraries = bufio.NewScanner(out), mapsOf(c.command.Process.Pid)
	return c, nil
}

// Answer serves the other side of a Child: it answers every line of standard input until that ends.
func Answer(answer func(request string) ([]float64, error)) error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		numbers, err := answer(in.Text())
		if err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", "; "))
			continue
		}
		text := make([]string, len(numbers))
		for i, x := range numbers {
			text[i] = fmt.Sprintf("%.9g", x)
		}
		fmt.Println(strings.Join(text, " "))
	}
	return in.Err()
}

// Ask sends one line and returns the numbers of the answer. A child that ends without an answer is an error that
// quotes the last line of what it wrote to stderr.
func (c *Child) Ask(request string) ([]float64, error) {
	if _, err := fmt.Fprintln(c.in, request); err != nil {
		return nil, c.died(request, err)
	}
	if !c.out.Scan() {
		return nil, c.died(request, errors.Join(c.out.Err(), io.ErrUnexpectedEOF))
	}
	answer := c.out.Text()
	if what, bad := strings.CutPrefix(answer, "error "); bad {
		return nil, fmt.Errorf("pair: %s, asked for %q: %s", c.name, request, what)
	}
	fields := strings.Fields(answer)
	numbers := make([]float64, len(fields))
	for i, f := range fields {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, fmt.Errorf("pair: %s, asked for %q, answered %q: not a number", c.name, request, answer)
		}
		numbers[i] = x
	}
	return numbers, c.checkBLAS()
}

// Side makes a side of the child: each turn asks the same request, and the answer begins with work, wall seconds and
// CPU seconds.
func (c *Child) Side(request string) Side {
	return Side{Name: c.name, Run: func() Turn {
		a := Must(c.Ask(request))
		if len(a) < 3 {
			Check(fmt.Errorf("pair: %s, asked for %q, answered %d numbers instead of work, wall and CPU seconds", c.name, request, len(a)))
		}
		return Turn{Work: a[0], Wall: Seconds(a[1]), CPU: Seconds(a[2])}
	}}
}

// Close ends the child and waits for it.
func (c *Child) Close() error {
	if err := c.in.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("pair: close %s: %w", c.name, err)
	}
	if err := c.command.Wait(); err != nil {
		return fmt.Errorf("pair: %s ended badly: %w; %s", c.name, err, lastLine(c.stderr.String()))
	}
	return nil
}

func (c *Child) died(request string, cause error) error {
	// The pipe is broken already, so what Wait adds is its exit status.
	if err := c.command.Wait(); err != nil {
		cause = err
	}
	return fmt.Errorf("pair: %s, asked for %q, ended: %w; %s", c.name, request, cause, lastLine(c.stderr.String()))
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// Seconds returns a time as a child gives it.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// RunProgram runs a program to its end, with the given environment added and threads as the program chooses. It returns
// its standard output, and the two times and the peak of memory of the whole process. An error quotes the last line of
// stderr.
func RunProgram(name, program string, env []string, args ...string) (out []byte, t Turn) {
	command := exec.Command(program, args...)
	command.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	start := time.Now()
	out, err := command.Output()
	t = Turn{Work: 1, Wall: time.Since(start)}
	if err != nil {
		Check(fmt.Errorf("pair: run %s: %w; %s", name, err, lastLine(stderr.String())))
	}
	t.CPU = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	if u, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.Peak = u.Maxrss << 10
	}
	return out, t
}

// Build builds the command itself, in its own module.
func Build(program string) {
	root, _ := RunProgram("go list", "go", nil, "list", "-m", "-f", "{{.Dir}}", "bellows")
	RunProgram("go build", "go", []string{"GOWORK=off", "CGO_ENABLED=0"}, "build", "-C", strings.TrimSpace(string(root)), "-trimpath", "-ldflags", "-s -w", "-o", program, "./cmd/bellows")
}

// Compile compiles a C program with a library, and starts it as Start does. The folder of the program is removed as soon as it runs.
func (b *Bench) Compile(name string, source []byte, library, packages string) (*Child, error) {
	dir, err := os.MkdirTemp("", "bellows-peer-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	text, program := filepath.Join(dir, "peer.c"), filepath.Join(dir, "peer")
	if err := os.WriteFile(text, source, 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.Command("gcc", "-O2", "-o", program, text, library).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the program of %s: %w; install %s\n%s", name, err, packages, out)
	}
	return b.Start(name, program)
}

// Python starts a Python program as Start does: common code that serves requests, and then the peer's own, which fills in what answers them.
func (b *Bench) Python(name, interpreter, source, packages string) (*Child, error) {
	c, err := b.Start(name, interpreter, "-c", source+servePython)
	if err != nil {
		err = fmt.Errorf("%w; install %s, or name an interpreter that has it by --python", err, packages)
	}
	return c, err
}

//go:embed serve.py
var servePython string
