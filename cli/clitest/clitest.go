// Package clitest runs a program of package cli as its users do: command lines in scripts, of the form of
// github.com/rogpeppe/go-internal/testscript, with what a training command needs beside: exit codes, JSON lines held against
// their schemas, interruptions at the first epoch, jobs that run while others look.
//
// An author's duties, in order:
//
//  1. TestMain calls Main with the program's name and its main, so that the test binary can be called as the program.
//  2. A test calls Run with a folder of scripts, testdata/script.
//
// Beside the commands of testscript, scripts have
//
//	exits CODE COMMAND...         the command ends with that code
//	valid SCHEMA FILE             every line of the file is valid under the schema that `PROGRAM schema SCHEMA` prints
//	last FILE KEY.KEY... VALUE    the last line of the file is an object that has the value there
//	steps FILE                    the commands under "next" in the last line of the file are carried out, and end with code 0
//	flip FILE OFFSET              one bit of the file is changed
//	interrupt SIGNAL COMMAND...   the command, with --json, gets INT, TERM or HUP, which comes twice, in its third or fourth epoch and
//	                              ends with code 130; what it wrote is in interrupted.out and interrupted.err
//	follow FILE TEXT              the shell runs the command that the file has behind the text, up to two blanks or its line's end, and it
//	                              succeeds: a next step that was printed works as it stands. As COMMAND of interrupt it is interrupted
//	start COMMAND...              a training command with --json is started, is past its first epoch, and goes on until its third or fourth
//	halt SIGNAL                   the one that was started last gets INT or KILL, and has ended
//	halt NODE FILE                that node's process is killed, by the status of the job in FILE, and the command has ended
//
// Every script has folders of its own: home, cache, state and temporary files. Where a script has CLITEST_HOLD=FILE in the environment of a
// training command, that waits in its third or fourth epoch while FILE is locked, as flock does; interrupt does so by itself.
package clitest

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
	"bellows/cli/internal/event"
	"bellows/cli/internal/verbs"

	"github.com/rogpeppe/go-internal/testscript"
)

// holdVariable names, in the environment of a training command, a file: in its third or fourth epoch the tasks of the run wait while
// somebody has locked it. Whoever interrupts a run that is held cannot come too late, however few epochs it has.
const holdVariable = "CLITEST_HOLD"

// Main runs the tests of m, with a program that scripts can call.
func Main(m *testing.M, program string, main func()) {
	testscript.Main(m, map[string]func(){program: func() {
		if name := os.Getenv(holdVariable); name != "" {
			verbs.Pause = func() { await(name) }
		}
		main()
	}})
}

// await waits until nobody has locked the file.
func await(name string) {
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH), syscall.EINTR) {
	}
}

// Run runs the scripts of a folder that call the program, all at once.
func Run(t *testing.T, program, dir string) {
	schemas := schemas{program: program}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("TMPDIR", env.WorkDir)
			env.Values["started"] = &started{}
			return age(env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"valid":     schemas.valid,
			"interrupt": interrupt,
			"last":      last,
			"flip":      flip,
			"steps":     steps,
			"start":     start,
			"halt":      halt,
			"follow":    follow,
		},
	})
}

// firstEpoch is in the line of the first epoch.
const firstEpoch = `"kind":"` + string(event.Epoch) + `"`

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

// exits is `exits CODE COMMAND...`: the command must end with that code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
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

// last is `last FILE KEY.KEY... VALUE`: the last line of the file is an object that has the value there.
func last(ts *testscript.TestScript, _ bool, args []string) {
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

// follow is `follow FILE TEXT`: it runs the command that the file has behind the text.
func follow(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("sh", "-c", printed(ts, args)))
}

// printed is the command that a file has behind a text.
func printed(ts *testscript.TestScript, args []string) string {
	_, command, there := strings.Cut(ts.ReadFile(args[0]), args[1])
	if !there {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	command, _, _ = strings.Cut(command, "\n")
	command, _, _ = strings.Cut(command, "  ")
	ts.Logf("[follow] %s", command)
	return command
}

// steps is `steps FILE`: what the program says can be done next can be done.
func steps(ts *testscript.TestScript, _ bool, args []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	var said struct{ Next []string }
	ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &said))
	if len(said.Next) == 0 {
		ts.Fatalf("%s names no command", args[0])
	}
	for _, command := range said.Next {
		if err := ts.Exec("sh", "-c", command); err != nil {
			ts.Fatalf("%s: %v", command, err)
		}
	}
}

// flip is `flip FILE OFFSET`: it changes one bit of the file.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	b[at] ^= 1
	ts.Check(os.WriteFile(name, b, 0o666))
}

// command is a command line in the script's folders.
func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	if args[0] == "follow" {
		return folders(ts, exec.Command("sh", "-c", "exec "+printed(ts, args[1:])))
	}
	path, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], args[0]))
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0] // as a shell would
	return folders(ts, cmd)
}

// folders gives a command the script's folders.
func folders(ts *testscript.TestScript, cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TMPDIR", "PATH"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// interrupt is `interrupt SIGNAL COMMAND...`: it reads the command's JSON lines up to the first
// epoch, behind which the command is held; it sends the signal, waits until the command says on standard
// error that it has got it, lets go of it, and reads the rest. The command must end with code 130. Its
// output is left in interrupted.out and interrupted.err.
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	cmd := command(ts, args[1:])
	lock := hold(ts, cmd)
	defer lock.Close()
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	talk, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer cmd.Process.Kill()
	var stdout, stderr bytes.Buffer
	lines := bufio.NewReader(io.TeeReader(out, &stdout))
	until(ts, lines, firstEpoch)
	signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}
	ts.Check(cmd.Process.Signal(signals[args[0]]))
	talkLines := bufio.NewReader(io.TeeReader(talk, &stderr))
	until(ts, talkLines, "stopping at a safe point")
	ts.Check(lock.Close())
	if args[0] == "HUP" { // as of a terminal: one of its shell, one of the system
		ts.Check(cmd.Process.Signal(syscall.SIGHUP))
	}
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

// hold has a training command wait in its third or fourth epoch, until what it returns is closed.
func hold(ts *testscript.TestScript, cmd *exec.Cmd) io.Closer {
	lock, err := os.CreateTemp(ts.MkAbs("."), ".hold-*")
	ts.Check(err)
	ts.Check(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	cmd.Env = append(cmd.Env, holdVariable+"="+lock.Name())
	return lock
}

// started is the commands that a script has started and not halted, the last one last.
type started struct{ list []heldCommand }

// heldCommand is a command that is held.
type heldCommand struct {
	*exec.Cmd
	hold io.Closer
}

// start is `start COMMAND...`: it starts a training command with --json and waits for its first epoch. What it
// writes after that is dropped.
func start(ts *testscript.TestScript, _ bool, args []string) {
	cmd := heldCommand{Cmd: command(ts, args)}
	cmd.hold = hold(ts, cmd.Cmd)
	read, write, err := os.Pipe()
	ts.Check(err)
	cmd.Stdout = write
	ts.Check(cmd.Start())
	ts.Check(write.Close())
	running := ts.Value("started").(*started)
	running.list = append(running.list, cmd)
	ts.Defer(func() {
		cmd.Process.Kill()
		cmd.hold.Close()
	})
	lines := bufio.NewReader(read)
	until(ts, lines, firstEpoch)
	go func() {
		defer read.Close()
		io.Copy(io.Discard, lines)
	}()
}

// halt is `halt SIGNAL`, with INT or KILL: it ends the command that was started last, and waits for its end. With
// the name of a node and a file that has the command's status it kills that node's process instead.
func halt(ts *testscript.TestScript, _ bool, args []string) {
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
	ts.Check(cmd.hold.Close())
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
