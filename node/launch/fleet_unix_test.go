//go:build unix

package launch

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/node"
)

// TestUnresponsiveProcessIsKilled asks a process to end that does not read its input. Ending it is not reported as a
// death.
func TestUnresponsiveProcessIsKilled(t *testing.T) {
	t.Parallel()
	f := &fleet{deaths: make(chan node.Death, 2), patience: time.Millisecond}
	require.NoError(t, f.start(Local{Program: "/bin/sh", Args: []string{"sh", "-c", "exec sleep 3600"}}, assignment{Cluster: node.Cluster{Members: []node.Member{{}, {Node: 1}}}}, true))
	if group, err := syscall.Getpgid(f.children[0].Process.(*local).cmd.Process.Pid); err != nil || group == syscall.Getpgrp() {
		t.Errorf("it is of this process's group, which a terminal interrupts as a whole: %v", err)
	}
	f.close()
	if state := f.children[0].Process.(*local).cmd.ProcessState; state == nil || !strings.Contains(state.String(), "killed") {
		t.Errorf("the process %v", state)
	}
	if len(f.deaths) != 0 {
		t.Errorf("its end is reported as a death: %v", <-f.deaths)
	}
}

// TestLostProcessIsNotAwaited ends a process that, like a stopped one, does not notice it. Its node is lost, so it is
// killed at once and not after patience.
func TestLostProcessIsNotAwaited(t *testing.T) {
	t.Parallel()
	f := &fleet{deaths: make(chan node.Death, 2), patience: time.Hour}
	require.NoError(t, f.start(Local{Program: "/bin/sh", Args: []string{"sh", "-c", "exec sleep 3600"}}, assignment{Cluster: node.Cluster{Members: []node.Member{{}, {Node: 1}}}}, true))
	f.killLost([]bellows.NodeID{1, 2})
	f.close()
	if state := f.children[0].Process.(*local).cmd.ProcessState; state == nil || !strings.Contains(state.String(), "killed") {
		t.Errorf("the process %v", state)
	}
	if len(f.deaths) != 0 {
		t.Errorf("its end is reported as a death: %v", <-f.deaths)
	}
}
