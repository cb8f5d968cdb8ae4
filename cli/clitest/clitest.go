package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows/api"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bellows": main})
}

// TestScripts runs the command lines of testdata/script, one file per verb.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("TMPDIR", env.WorkDir)
			env.Values["started"] = &started{}
			return age(env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     cmdExits,
			"valid":     cmdValid,
			"interrupt": cmdInterrupt,
			"last":      cmdLast,
			"flip":      cmdFlip,
			"start":     cmdStart,
			"halt":      cmdHalt,
		},
	})
}

// age makes every file below folder an hour old: what is read from a file that was just written is not stored.
func age(folder string) error {
	then := time.Now().Add(-time.Hour)
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, then, then)
	})
}

// cmdExits is `exits CODE COMMAND...`: the command must end with that code.
func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, not %s", code, args[0])
	}
}

// cmdValid is `valid SCHEMA FILE`: every line of the file is valid under the schema of that name.
func cmdValid(ts *testscript.TestScript, _ bool, args []string) {
	lines := strings.TrimSuffix(ts.ReadFile(args[1]), "\n")
	if lines == "" {
		ts.Fatalf("%s is empty", args[1])
	}
	for line := range strings.SplitSeq(lines, "\n") {
		if err := validateLine(args[0], line); err != nil {
			ts.Fatalf("%v\n%s", err, line)
		}
	}
}

// cmdLast is `last FILE KEY.KEY... VALUE`: the last line of the file is an object that has the value there.
func cmdLast(ts *testscript.TestScript, _ bool, args []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	var at any
	ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &at))
	for key := range strings.SplitSeq(args[1], ".") {
		object, ok := at.(map[string]any)
		if !ok {
			ts.Fatalf("there is no %s", args[1])
		}
		at = object[key]
	}
	got, err := json.Marshal(at)
	ts.Check(err)
	if string(got) != args[2] && string(got) != strconv.Quote(args[2]) {
		ts.Fatalf("%s is %s, not %s", args[1], got, args[2])
	}
}

// cmdFlip is `flip FILE OFFSET`: it changes one bit of the file.
func cmdFlip(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	b[at] ^= 1
	ts.Check(os.WriteFile(name, b, 0o666))
}

// cmdInterrupt is `interrupt SIGNAL COMMAND...`: it reads the command's JSON lines up to the first
// epoch and then stops reading, which stops the command as soon as the pipe is full; it sends the
// signal, waits until the command says on standard error that it has got it, and reads the rest. The
// command must end with code 130. Its output is left in interrupted.out and interrupted.err.
func cmdInterrupt(ts *testscript.TestScript, _ bool, args []string) {
	path, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], args[1]))
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "XDG_CACHE_HOME=" + ts.Getenv("XDG_CACHE_HOME"),
		"XDG_STATE_HOME=" + ts.Getenv("XDG_STATE_HOME"), "PATH=" + ts.Getenv("PATH")}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	talk, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer cmd.Process.Kill()
	var stdout, stderr bytes.Buffer
	lines := bufio.NewReader(io.TeeReader(out, &stdout))
	until(ts, lines, `"kind":"epoch"`)
	signal := os.Interrupt
	if args[0] == "TERM" {
		signal = terminate
	}
	ts.Check(cmd.Process.Signal(signal))
	talkLines := bufio.NewReader(io.TeeReader(talk, &stderr))
	until(ts, talkLines, "stopping at a safe point")
	_, err = io.Copy(io.Discard, lines)
	ts.Check(err)
	_, err = io.Copy(io.Discard, talkLines)
	ts.Check(err)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		ts.Fatalf("the interrupted command ended with %v\n%s", err, stderr.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("interrupted.out"), stdout.Bytes(), 0o666))
	ts.Check(os.WriteFile(ts.MkAbs("interrupted.err"), stderr.Bytes(), 0o666))
}

// started is the commands that a script has started and not halted, the last one last.
type started struct{ list []*exec.Cmd }

// cmdStart is `start COMMAND...`: it starts a training command with --json and waits for its first epoch. What it
// writes after that is dropped.
func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	path, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], args[0]))
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TMPDIR", "PATH"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	read, write, err := os.Pipe()
	ts.Check(err)
	cmd.Stdout = write
	ts.Check(cmd.Start())
	ts.Check(write.Close())
	running := ts.Value("started").(*started)
	running.list = append(running.list, cmd)
	ts.Defer(func() { cmd.Process.Kill() })
	lines := bufio.NewReader(read)
	until(ts, lines, `"kind":"epoch"`)
	go func() {
		defer read.Close()
		io.Copy(io.Discard, lines)
	}()
}

// cmdHalt is `halt SIGNAL`, with INT or KILL: it ends the command that was started last, and waits for its end. With
// the name of a node and a file that has the command's status it kills that node's process instead.
func cmdHalt(ts *testscript.TestScript, _ bool, args []string) {
	running := ts.Value("started").(*started)
	last := len(running.list) - 1
	cmd := running.list[last]
	running.list = running.list[:last]
	code := 130
	switch args[0] {
	case "INT":
		ts.Check(cmd.Process.Signal(os.Interrupt))
	case "KILL":
		code = -1
		ts.Check(cmd.Process.Kill())
	default:
		code = 75
		ts.Check(syscall.Kill(processOf(ts, args[0], args[1]), syscall.SIGKILL))
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != code {
		ts.Fatalf("the command ended with %v, not with code %d", err, code)
	}
}

// processOf is the process of a node, as a file with a status has it.
func processOf(ts *testscript.TestScript, node, file string) int {
	var s api.Status
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &s))
	for _, n := range s.Nodes {
		if n.ID == node && n.PID > 1 {
			return n.PID
		}
	}
	ts.Fatalf("%s has no process of %s", file, node)
	return 0
}

// until reads lines up to one that has the text.
func until(ts *testscript.TestScript, r *bufio.Reader, text string) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			ts.Fatalf("the output ended before a line with %q: %v", text, err)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// TestHeadlineComesFirst wants the first words on the screen before any data has been read: the
// input is a pipe that stays empty until they have come.
func TestHeadlineComesFirst(t *testing.T) {
	t.Parallel()
	in, feed := io.Pipe()
	shown, out := io.Pipe()
	c := &console{in: in, out: out, err: io.Discard}
	code := make(chan int)
	go func() {
		code <- execute(c, []string{"train", "mf", "-", "--epochs", "1", "--format", "triples", "--out", filepath.Join(t.TempDir(), "m"),
			"--state", t.TempDir()})
	}()
	want := "matrix factorisation · standard input: "
	words := make([]byte, len(want))
	if _, err := io.ReadFull(shown, words); err != nil || string(words) != want {
		t.Fatalf("the first words are %q, %v", words, err)
	}
	if _, err := io.WriteString(feed, "a b 3\na c 4\nb b 1\n"); err != nil {
		t.Fatal(err)
	}
	feed.Close()
	go io.Copy(io.Discard, shown)
	if got := <-code; got != 0 {
		t.Errorf("exit code %d", got)
	}
}
