package clitest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	Main(m, "idle", func() {
		fmt.Println("idle")
		<-time.After(slayWithin) // and then it ends, whatever has gone wrong
	})
}

// scriptsT is the test that scripts run under: it fails without failing the test around it.
type scriptsT struct {
	log    strings.Builder
	failed bool
}

func (t *scriptsT) Skip(...any)       { runtime.Goexit() }
func (t *scriptsT) Fatal(args ...any) { t.Log(args...); t.FailNow() }
func (t *scriptsT) Log(args ...any)   { fmt.Fprintln(&t.log, args...) }
func (t *scriptsT) FailNow()          { t.failed = true; runtime.Goexit() }
func (t *scriptsT) Parallel()         {}
func (t *scriptsT) Verbose() bool     { return false }
func (t *scriptsT) Run(_ string, f func(testscript.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(t)
	}()
	<-done
}

// TestAScriptThatFailsLeavesNothing runs a script that starts a process, leaves it stopped, and fails.
func TestAScriptThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pids := filepath.Join(dir, "pid")
	script := "[!linux] skip\nexec mkfifo idles\nexec sh -c 'idle >idles 2>&1 & echo $! >" + pids + "; read word <idles; kill -STOP $!'\nexec false\n"
	if err := os.WriteFile(filepath.Join(dir, "fails.txtar"), []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	scripts := &scriptsT{}
	testscript.RunT(scripts, params("idle", dir, nil))
	text, err := os.ReadFile(pids)
	if err != nil || !scripts.failed {
		t.Fatalf("the script did not fail as it should: %v\n%s", err, scripts.log.String())
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if runs(pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Errorf("process %d is left\n%s", pid, scripts.log.String())
	}
	if said := fmt.Sprintf("left, and killed: process %d, ", pid); !strings.Contains(scripts.log.String(), said) {
		t.Errorf("the log does not say %q:\n%s", said, scripts.log.String())
	}
}

// TestProcessesEndWithTheirScript releases the file that is locked while a script runs.
func TestProcessesEndWithTheirScript(t *testing.T) {
	t.Parallel()
	life, err := os.Create(filepath.Join(t.TempDir(), "life"))
	if err != nil {
		t.Fatal(err)
	}
	defer life.Close()
	if err := syscall.Flock(int(life.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Args[0], cmd.Env = "idle", append(os.Environ(), lifeVariable+"="+life.Name())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, new(string)); err != nil {
		t.Error(err)
	}
	if err := life.Close(); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != lifeless {
		t.Errorf("it ends with %v", err)
	}
}
