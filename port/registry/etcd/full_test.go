package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"bellows/port/registry"
)

// lone is a member that is alone, of a folder that outlives it.
type lone struct {
	*testing.T
	folder string
	cmd    *exec.Cmd
	in     io.Closer
}

// start starts the member with room for so many bytes, and waits until it is ready.
func (l *lone) start(quota int) {
	l.Helper()
	l.cmd = exec.Command(os.Args[0])
	l.cmd.Dir, l.cmd.Stderr = l.folder, os.Stderr
	l.cmd.Env = append(os.Environ(), asMember+"=a ", fmt.Sprintf("%s=%d", memberQuota, quota))
	in, err := l.cmd.StdinPipe()
	var out io.Reader
	if err == nil {
		out, err = l.cmd.StdoutPipe()
	}
	if err == nil {
		err = l.cmd.Start()
	}
	if err == nil {
		_, err = io.ReadFull(out, make([]byte, len("ready\n")))
	}
	if err != nil {
		l.Fatal(err)
	}
	l.in = in
}

// end ends it.
func (l *lone) end() {
	l.in.Close()
	if err := l.cmd.Wait(); err != nil {
		l.Error(err)
	}
}

// TestAFullMemberIsWrittenAgain fills the space of a member with past revisions, so that etcd refuses all writes and leases. The member makes room while it runs, and when the next manager starts it.
func TestAFullMemberIsWrittenAgain(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "etcd") // that of a test would be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("the test has waited for %v", patience))
	defer cancel()
	const quota = 8 << 20
	l := &lone{T: t, folder: folder}
	open := func() registry.Registry {
		r, err := Open(ctx, Config{Endpoints: []string{"unix://" + folder + "/a:1"}, Prefix: "bellows"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	value := bytes.Repeat([]byte("x"), registry.ValueBytesMost-8)
	fill := func(r registry.Registry) {
		t.Helper()
		for i := range 2 * quota / len(value) {
			_, err := r.Put(ctx, "jobs/00000001", fmt.Append(value, i), 0)
			if errors.Is(err, registry.ErrFull) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Fatal("it is not full")
	}
	l.start(quota)
	r := open()
	fill(r)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := r.Put(ctx, "jobs/00000002", value, 0)
		if err == nil {
			break
		}
		if !errors.Is(err, registry.ErrFull) {
			t.Fatalf("while it makes room: %v", err)
		}
		<-tick.C
	}
	fill(r)
	r.Close()
	l.end()
	l.start(quota)
	defer l.end()
	r = open()
	defer r.Close()
	lease, err := r.Grant(ctx, 15*time.Second)
	if err != nil {
		t.Fatalf("the next manager has no lease: %v", err)
	}
	if _, err := registry.Campaign(ctx, r, "manager", []byte("the next"), lease); err != nil {
		t.Errorf("the next manager does not lead: %v", err)
	}
	if e, err := r.Get(ctx, "jobs/00000002"); err != nil || !bytes.Equal(e.Value, value) {
		t.Errorf("what was kept is %d bytes, %v", len(e.Value), err)
	}
}
