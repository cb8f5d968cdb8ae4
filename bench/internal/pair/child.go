package pair

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	stderr  bytes.Buffer
}

// Start runs a program as a child with every thread pool that it may have pinned to one thread.
func Start(name, program string, args ...string) (*Child, error) {
	c := &Child{name: name, command: exec.Command(program, args...)}
	c.command.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
	c.command.Stderr = &c.stderr
	out, err := c.command.StdoutPipe()
	if err == nil {
		c.in, err = c.command.StdinPipe()
	}
	if err == nil {
		err = c.command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("pair: start %s: %w", name, err)
	}
	c.out = bufio.NewScanner(out)
	return c, nil
}

// Answer is the other side of a Child: it answers every line of standard input until that ends.
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
	return numbers, nil
}

// Side makes a side of the child: each turn asks the same request, and the answer begins with work, wall seconds and
// CPU seconds.
func (c *Child) Side(request string) Side {
	return Side{Name: c.name, Run: func() (Turn, error) {
		a, err := c.Ask(request)
		if err != nil {
			return Turn{}, err
		}
		if len(a) < 3 {
			return Turn{}, fmt.Errorf("pair: %s, asked for %q, answered %d numbers instead of work, wall and CPU seconds", c.name, request, len(a))
		}
		return Turn{Work: a[0], Wall: Seconds(a[1]), CPU: Seconds(a[2])}, nil
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

// Seconds is a time as a child gives it.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Once runs a program to its end, with the given environment added and threads as the program chooses, and returns its
// standard output, and the two times and the peak of memory of the whole process. An error quotes the last line that it wrote to stderr.
func Once(name, program string, env []string, args ...string) (out []byte, t Turn, err error) {
	command := exec.Command(program, args...)
	command.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	start := time.Now()
	out, err = command.Output()
	t = Turn{Work: 1, Wall: time.Since(start)}
	if err != nil {
		return out, t, fmt.Errorf("pair: run %s: %w; %s", name, err, lastLine(stderr.String()))
	}
	t.CPU = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	if u, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.Peak = u.Maxrss << 10
	}
	return out, t, nil
}

// Build builds the command itself, in its own module.
func Build(program string) error {
	root, _, err := Once("go list", "go", nil, "list", "-m", "-f", "{{.Dir}}", "bellows")
	if err != nil {
		return err
	}
	_, _, err = Once("go build", "go", []string{"GOWORK=off"}, "build", "-C", strings.TrimSpace(string(root)), "-trimpath", "-o", program, "./cmd/bellows")
	return err
}
