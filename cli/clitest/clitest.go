// Package clitest runs the program of package cli in tests like its users do: by command lines in scripts. The scripts
// have the format of github.com/rogpeppe/go-internal/testscript. The package adds the commands that tests of training
// need: exit codes, JSON lines checked against their schemas, interruptions after the first epochs, and jobs that run
// while other commands look at them.
//
// An author's duties, in order:
//
//  1. TestMain calls Main with the name of the program and its main function, so that scripts can call the test binary as the program.
//  2. A test calls Run with a folder of scripts, testdata/script.
//
// Scripts have the commands of testscript, and these:
//
//	exits CODE COMMAND...         run a command and check its exit code
//	valid SCHEMA FILE             check that every line of the file is valid under the schema that `PROGRAM schema
//	                              SCHEMA` prints
//	last FILE KEY.KEY... VALUE    check the value at a path in the object on the last line of the file
//	steps FILE                    run the commands under "next" in the last line of the file; each must end with
//	                              code 0
//	flip FILE OFFSET              change one bit of the file
//	draw FOLDER IMAGES SEED       write PNG images, that many each in FOLDER/cats and FOLDER/dogs, which a linear
//	                              model can separate
//	s3put FILE NAME               store the file as an object of that name in the service of s3test at $S3_ENDPOINT
//	interrupt SIGNAL COMMAND...   run a command with --json, send INT, TERM or HUP (HUP twice) in its third or
//	                              fourth epoch, and check that it ends with code 130; its output is in
//	                              interrupted.out and interrupted.err
//	follow FILE TEXT              run the shell command that follows the text in the file, up to two blanks or the
//	                              end of the line; it must succeed, so that a printed next step works as it stands.
//	                              As COMMAND of interrupt it is interrupted
//	start COMMAND...              start a training command with --json and return after its first epoch; it runs
//	                              until its third or fourth
//	halt SIGNAL                   send INT or KILL to the command that was started last, and wait until it ends
//	slay FILE KEY.KEY...          kill the process with the number at a path in the last line of the file, and wait
//	                              until it ends; a number in the path is an index of a list
//	terminate FILE KEY.KEY...     send TERM to that process, and do not wait
//	freeze FILE KEY.KEY...        stop that process; thaw continues it
//	thaw FILE KEY.KEY...
//	gate close|reach|open NAME... close a gate, at which a run waits (see below); wait until a run reaches it; open
//	                              it, or open all without a name
//	through RUN COMMAND...        run a command that moves splits or partitions of that run. While some are moving
//	                              and the run waits at the first closed gate, open that gate. The command must
//	                              succeed; its output is in through.out
//	machines NAME...              make a network namespace for each name; its address is in the variable NAME_AT,
//	                              and all reach each other. The condition [machines] reports whether this user can
//	                              make them: root, on a system with ip
//	finish                        let the command that was started last run to its end; it must succeed
//	over FILE                     check that no process runs that the last line of the file names anywhere as "pid"
//	                              or as "agent"
//	await TEXT COMMAND...         repeat a command until its output has the text
//	halt NODE FILE                kill the process of a node, found in the status of the job in FILE, and wait until
//	                              the command ends
//
// The condition [soak] holds in the long form of the tests, ./dev soak. Use it for lines that take long, and for cases
// that a shorter line has shown already.
//
// A cluster that a script starts is stopped at the end of the script at the latest. Processes that remain then, because
// the script failed or its cluster cannot be reached, are killed by their numbers, and the log names them. If the test
// ends before its scripts do, every process that they started ends by itself.
//
// Every script has its own folders for home, cache, state and temporary files. If CLITEST_HOLD=FILE is in the
// environment of a training command, the command waits in its third or fourth epoch while FILE is locked by flock;
// interrupt does so. A process waits for FILE after it has visited the items of three epochs, for FILE.2 after six, and
// so on; it does not wait for a file that does not exist. A job of a cluster waits at the gates of the command that
// started the cluster.
package clitest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows/api"
	"bellows/cli/internal/testhook"
	"bellows/port/blob/s3/s3test"
	"bellows/run/event"
	"bellows/vec"

	"github.com/rogpeppe/go-internal/testscript"
)

// holdVariable names, in the environment of a training command, a file: in its third or fourth epoch the tasks of the
// run wait while the file is locked. An interrupt of a held run cannot come too late, however few epochs it has.
const holdVariable = "CLITEST_HOLD"

// Main runs the tests of m, twice as many at once as there are processors, with a program that scripts can call, and
// maybe others, by their names.
func Main(m *testing.M, program string, main func(), others ...Program) {
	held := func(main func()) func() {
		return func() {
			if name := os.Getenv(lifeVariable); name != "" {
				go endWith(name)
			}
			if name := os.Getenv(holdVariable); name != "" {
				testhook.Task = func(epochs int64) { await(name, epochs/holdEach) }
			}
			main()
		}
	}
	// go test -parallel overrides this. Scripts mostly wait for their processes.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err) // the flags of tests are defined before TestMain
	}
	programs := map[string]func(){program: held(main)}
	for _, o := range others {
		programs[o.Name] = held(o.Main)
	}
	testscript.Main(m, programs)
}

// Program is one that scripts can call.
type Program struct {
	Name string
	Main func()
}

// holdEach is how many epochs there are between two gates.
const holdEach = 3

// await waits until the gate of that number, counted from 1, is not locked.
func await(name string, gate int64) {
	switch {
	case gate < 1:
		return
	case gate > 1:
		name += "." + strconv.FormatInt(gate, 10)
	}
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH), syscall.EINTR) {
	}
}

// lifeVariable names, in the environment of all that a script starts, a file that is locked as long as the script
// runs. The system lets go of it however the test ends.
const lifeVariable = "CLITEST_LIFE"

// endWith ends this process when the file is not locked any more.
func endWith(name string) {
	f, err := os.Open(name)
	if err != nil {
		return // the script is over, and has seen to what it left
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
	}
	os.Exit(lifeless)
}

// lifeless is the exit code of what outlives its script.
const lifeless = 3

// Run runs the scripts of a folder that call the program, all at once. variables, written as NAME=VALUE, are added to
// their environment.
func Run(t *testing.T, program, dir string, variables ...string) {
	if signal.Ignored(syscall.SIGHUP) { // under nohup: what a script starts must hear it nevertheless, and what is caught here is not inherited
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Run(t, params(program, dir, variables))
}

// soak reports whether this is the long form of the tests: soak.go sets it.
var soak bool

func params(program, dir string, variables []string) testscript.Params {
	schemas := schemas{program: program}
	return testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("TMPDIR", env.WorkDir)
			env.Vars = append(env.Vars, variables...)
			env.Values["started"], env.Values["gates"] = &started{}, map[string]io.Closer{}
			if err := age(env.WorkDir); err != nil {
				return err
			}
			life := filepath.Join(env.WorkDir, ".life")
			lock, err := os.Create(life)
			if err != nil {
				return err
			}
			env.Setenv(lifeVariable, life)
			env.Defer(func() {
				takeDown(env, program)
				for _, left := range slayAll(lifeVariable + "=" + life) {
					env.T().Log("left, and killed: " + left)
				}
				lock.Close()
			})
			return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
		},
		Condition: func(word string) (bool, error) { // [avx2]: there are kernels for this processor that one without them has not
			switch word {
			case "soak":
				return soak, nil
			case "avx2":
				return slices.Contains(vec.Sets(), word), nil
			case "machines":
				_, err := exec.LookPath("ip")
				return err == nil && os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("there is no condition %q", word)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"valid":     schemas.valid,
			"interrupt": interrupt,
			"last":      last,
			"flip":      flip,
			"draw":      draw,
			"s3put":     s3put,
			"steps":     steps,
			"start":     start,
			"halt":      halt,
			"follow":    follow,
			"slay":      slay,
			"over":      checkEnded,
			"await":     awaits,
			"terminate": terminate,
			"freeze":    freeze,
			"thaw":      thaw,
			"gate":      gate,
			"finish":    finish,
			"through":   through,
			"machines":  machines,
		},
	}
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

// exits implements `exits CODE COMMAND...`: the command must end with that code.
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

// lastLine returns the last line of a file, as JSON.
func lastLine(ts *testscript.TestScript, file string) (v any) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(file), "\n"), "\n")
	ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &v))
	return v
}

// awaits implements `await TEXT COMMAND...`: the command is repeated until its output has the text.
func awaits(ts *testscript.TestScript, _ bool, args []string) {
	for began := time.Now(); ; {
		called := time.Now()
		out, err := command(ts, args[1:]).Output()
		if err == nil && strings.Contains(string(out), args[0]) {
			return
		}
		if time.Since(began) > waitMost {
			ts.Fatalf("after %v its output has no %q: %v\n%s", waitMost, args[0], err, out)
		}
		time.Sleep(pause(time.Since(called)))
	}
}

// pause returns the time to wait before repeating a command that took so long. The processes that a script waits for need
// the processors, so the command uses at most a quarter of one core.
func pause(took time.Duration) time.Duration { return max(10*time.Millisecond, 3*took) }

// gate implements `gate close|reach|open NAME...`: runs wait at gates that are closed.
func gate(ts *testscript.TestScript, _ bool, args []string) {
	gates := ts.Value("gates").(map[string]io.Closer)
	names := args[1:]
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(gates))
	}
	for _, name := range names {
		switch args[0] {
		case "open":
			ts.Check(gates[name].Close())
			delete(gates, name)
			continue
		case "reach":
			reach(ts, gates[name].(*os.File))
			continue
		}
		f, err := os.Create(ts.MkAbs(name))
		ts.Check(err)
		ts.Check(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
		ts.Defer(func() { f.Close() }) // it may be open
		gates[name] = f
	}
}

// reach waits until a process waits for the lock of a file.
func reach(ts *testscript.TestScript, f *os.File) {
	info, err := f.Stat()
	ts.Check(err)
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		locks, err := os.ReadFile("/proc/locks")
		ts.Check(err)
		for line := range strings.Lines(string(locks)) {
			if strings.Contains(line, "-> FLOCK") && strings.Contains(line, inode) {
				return
			}
		}
		if time.Since(began) > waitMost {
			ts.Fatalf("after %v no process waits at %s", waitMost, f.Name())
		}
	}
}

// machines implements `machines NAME...`: network namespaces on one bridge, which is in the first of them.
func machines(ts *testscript.TestScript, _ bool, args []string) {
	ip := func(words ...string) {
		if out, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
			ts.Fatalf("ip %s: %v\n%s", strings.Join(words, " "), err, out)
		}
	}
	space := func(i int) string { return fmt.Sprintf("bellows-%d-%s", os.Getpid(), args[i]) }
	for i, name := range args {
		at := fmt.Sprintf("10.90.0.%d", i+1)
		ip("netns", "add", space(i))
		ts.Defer(func() { exec.Command("ip", "netns", "del", space(i)).Run() }) // it holds nothing up
		ip("-n", space(i), "link", "set", "lo", "up")
		device := "eth0"
		if i == 0 {
			device = "bridge0"
			ip("-n", space(0), "link", "add", device, "type", "bridge")
		} else {
			port := fmt.Sprintf("port%d", i)
			ip("link", "add", port, "netns", space(0), "type", "veth", "peer", "name", device, "netns", space(i))
			ip("-n", space(0), "link", "set", port, "master", "bridge0", "up")
		}
		ip("-n", space(i), "addr", "add", at+"/24", "dev", device)
		ip("-n", space(i), "link", "set", device, "up")
		ts.Setenv(name, space(i))
		ts.Setenv(name+"_AT", at)
	}
}

// through implements `through RUN COMMAND...`: gates are opened as long as the command has the run's splits or
// partitions move.
func through(ts *testscript.TestScript, _ bool, args []string) {
	gates := ts.Value("gates").(map[string]io.Closer)
	cmd := command(ts, args[1:])
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	ts.Check(cmd.Start())
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	for began, took := time.Now(), time.Duration(0); ; {
		select {
		case err := <-over:
			if err != nil {
				ts.Fatalf("%v\n%s", err, said.String())
			}
			ts.Check(os.WriteFile(ts.MkAbs("through.out"), said.Bytes(), 0o666))
			return
		case <-time.After(pause(took)):
		}
		called := time.Now()
		status, err := command(ts, []string{args[1], "status", args[0], "--json"}).Output()
		took = time.Since(called)
		if err == nil && bytes.Contains(status, []byte(`"what":"`)) && len(gates) > 0 {
			name := slices.Min(slices.Collect(maps.Keys(gates)))
			reach(ts, gates[name].(*os.File))
			ts.Check(gates[name].Close())
			delete(gates, name)
		}
		if time.Since(began) > slayWithin {
			cmd.Process.Kill()
			ts.Fatalf("it has not ended after %v; its run: %v\n%s", slayWithin, err, status)
		}
	}
}

// process returns the process whose number is in the last line of a file at a path of keys.
func process(ts *testscript.TestScript, args []string) int {
	at := lastLine(ts, args[0])
	for key := range strings.SplitSeq(args[1], ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[key]
		case []any:
			n, err := strconv.Atoi(key)
			ts.Check(err)
			at = v[n]
		}
	}
	pid, is := at.(float64)
	if !is || pid < 2 {
		ts.Fatalf("%s of %s is no process: %v", args[1], args[0], at)
	}
	return int(pid)
}

// terminate implements `terminate FILE KEY.KEY...`: the process with that number is asked to end.
func terminate(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Kill(process(ts, args), syscall.SIGTERM))
}

// freeze implements `freeze FILE KEY.KEY...`: the process with that number is stopped.
func freeze(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Kill(process(ts, args), syscall.SIGSTOP))
}

// thaw implements `thaw FILE KEY.KEY...`: it continues.
func thaw(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Kill(process(ts, args), syscall.SIGCONT))
}

// slay implements `slay FILE KEY.KEY...`: the process with that number is killed.
func slay(ts *testscript.TestScript, _ bool, args []string) {
	pid := process(ts, args)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	for began := time.Now(); runs(pid); time.Sleep(time.Millisecond) {
		if time.Since(began) > slayWithin {
			ts.Fatalf("process %v was killed, and has not ended after %v", pid, slayWithin)
		}
	}
}

// slayWithin is how long a process that is killed may take to end.
const slayWithin = 30 * time.Second

// waitMost bounds waits for a process: on a busy machine they may take minutes.
const waitMost = 3 * time.Minute

// checkEnded implements `over FILE`: no process that the last line of the file names runs any more.
func checkEnded(ts *testscript.TestScript, _ bool, args []string) {
	seen := 0
	var look func(key string, v any)
	look = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				look(k, inner)
			}
		case []any:
			for _, inner := range v {
				look(key, inner)
			}
		case float64:
			if (key == "pid" || key == "agent") && v > 1 {
				seen++
				for began := time.Now(); runs(int(v)); time.Sleep(time.Millisecond) { // a process may have closed its files and not ended yet
					if time.Since(began) > slayWithin {
						ts.Fatalf("process %v of %s runs still", v, args[0])
					}
				}
			}
		}
	}
	look("", lastLine(ts, args[0]))
	if seen == 0 {
		ts.Fatalf("%s names no process", args[0])
	}
}

// runs reports whether there is a process of that number that has not ended. An ended process that its parent has not
// waited for is in state Z. The first thread alone may be in it while others end, and with them the process's open
// files.
func runs(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	at := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(at + "/stat")
	if err != nil || !bytes.Contains(stat, []byte(") Z ")) {
		return true
	}
	threads, err := os.ReadDir(at + "/task")
	return err == nil && len(threads) > 1
}

// takeDown ends the cluster of a script that has left one.
func takeDown(env *testscript.Env, program string) {
	if _, err := os.Stat(filepath.Join(env.Getenv("XDG_STATE_HOME"), "bellows", "cluster")); err != nil {
		return
	}
	path := filepath.Join(strings.Split(env.Getenv("PATH"), string(os.PathListSeparator))[0], program)
	cmd := exec.Command(path, "down")
	cmd.Args[0], cmd.Env = program, append(os.Environ(), "XDG_STATE_HOME="+env.Getenv("XDG_STATE_HOME"), lifeVariable+"="+env.Getenv(lifeVariable))
	if out, err := cmd.CombinedOutput(); err != nil {
		env.T().Log(string(out))
	}
}

// slayAll kills the processes of this machine that were started with a variable, and returns their descriptions.
// Processes that one of them starts meanwhile are killed in the next round.
func slayAll(variable string) (list []string) {
	began := time.Now()
	for left := true; left && time.Since(began) < slayWithin; {
		left = false
		environs, _ := filepath.Glob("/proc/[0-9]*/environ") // only on Linux
		for _, name := range environs {
			text, err := os.ReadFile(name)
			pid, wrong := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil || wrong != nil || pid == os.Getpid() || !slices.Contains(strings.Split(string(text), "\x00"), variable) || !runs(pid) {
				continue
			}
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			if left = true; syscall.Kill(pid, syscall.SIGKILL) == nil {
				list = append(list, fmt.Sprintf("process %d, %s", pid, strings.ReplaceAll(strings.TrimSuffix(string(line), "\x00"), "\x00", " ")))
			}
		}
		if left {
			time.Sleep(time.Millisecond)
		}
	}
	return list
}

// last implements `last FILE KEY.KEY... VALUE`: the last line of the file is an object that has the value there.
func last(ts *testscript.TestScript, _ bool, args []string) {
	at := lastLine(ts, args[0])
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

// follow implements `follow FILE TEXT`: it runs the command after the text in the file.
func follow(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("sh", "-c", printed(ts, args)))
}

// printed returns the command after a text in a file.
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

// steps implements `steps FILE`: the next steps that the program prints must work.
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

// s3put implements `s3put FILE NAME`: the file becomes an object, as other programs put them there.
func s3put(ts *testscript.TestScript, _ bool, args []string) {
	content, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(s3test.Put(context.Background(), ts.Getenv("S3_ENDPOINT"), args[1], content))
}

// flip implements `flip FILE OFFSET`: it changes one bit of the file.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	b[at] ^= 1
	ts.Check(os.WriteFile(name, b, 0o666))
}

// command returns a command line in the script's folders.
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
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TMPDIR", "PATH", lifeVariable} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// interrupt implements `interrupt SIGNAL COMMAND...`. It reads the command's JSON lines up to the first epoch, after
// which the command is held, and sends the signal. It waits until the command acknowledges it on standard error,
// releases it, and reads the rest. The command must end with code 130. Its output is left in interrupted.out and
// interrupted.err. A command that has not ended after interruptWithin is killed, and the script fails.
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
	defer time.AfterFunc(interruptWithin, func() { cmd.Process.Kill() }).Stop()
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

const interruptWithin = 2 * time.Minute

// hold makes a training command wait in its third or fourth epoch, until the result is closed; if the script has gates
// of its own, at those.
func hold(ts *testscript.TestScript, cmd *exec.Cmd) io.Closer {
	if own := ts.Getenv(holdVariable); own != "" {
		cmd.Env = append(cmd.Env, holdVariable+"="+own)
		return io.NopCloser(nil)
	}
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

// start implements `start COMMAND...`: it starts a training command with --json and waits for its first epoch. Later
// output is dropped.
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

// halt implements `halt SIGNAL`, with INT or KILL: it ends the command that was started last, and waits for its end.
// With the name of a node and a file with the command's status it kills that node's process instead.
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

// finish implements `finish`: the command that was started last runs to its end.
func finish(ts *testscript.TestScript, _ bool, _ []string) {
	running := ts.Value("started").(*started)
	last := len(running.list) - 1
	cmd := running.list[last]
	running.list = running.list[:last]
	ts.Check(cmd.hold.Close())
	ts.Check(cmd.Wait())
}

// processOf returns the process of a node, as a file with a status has it.
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
