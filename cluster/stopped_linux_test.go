package cluster

import (
	"context"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows"
	"bellows/link/secure"
)

// TestStoppedManagerIsNotAwaited calls a manager that never answers, because its process is stopped: the error says so,
// and what to do. A manager that computes, or that was continued, is awaited.
func TestStoppedManagerIsNotAwaited(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	process := exec.Command("sleep", "600")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer process.Wait()
	defer process.Process.Kill()
	pid := process.Process.Pid
	if stopped(pid) || stopped(1<<30) {
		t.Error("one that runs, or that there is not, is stopped")
	}
	c := NewClient(l.Addr().String(), secure.Token{})
	c.pid, c.program, c.stopped = pid, "means", time.Millisecond
	ctx, end := c.look(t.Context())
	defer end()
	if err := c.ask(t.Context(), 100*time.Millisecond, "GET", "/", nil, nil); err == nil || !strings.Contains(err.Error(), "no answer within 100ms") {
		t.Errorf("one that runs: %v", err)
	}
	var as syscall.WaitStatus
	if err := process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, &as, syscall.WUNTRACED, nil); err != nil || !as.Stopped() {
		t.Fatal(as, err)
	}
	<-ctx.Done() // it was stopped behind its beginning
	if !strings.Contains(context.Cause(ctx).Error(), "is stopped") {
		t.Error(context.Cause(ctx))
	}
	_, err = c.Status(t.Context())
	if err == nil || bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "is stopped, and did not continue within 1ms") || !strings.Contains(err.Error(), "`means down` ends the cluster") {
		t.Errorf("one that is stopped: %v", err)
	}
}
