package etcdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/port/registry"
	"bellows/port/registry/etcd"
)

// lone is a member that is alone.
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

// TestFullMember fills the space of a member with past revisions, so that etcd refuses all writes until an operator makes room. The port says that it is full, and reads still work.
func TestFullMember(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "etcd") // that of a test would be too long for a socket
	require.NoError(t, err)
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("the test has waited for %v", patience))
	defer cancel()
	const quota = 8 << 20
	l := &lone{T: t, folder: folder}
	l.start(quota)
	defer l.end()
	r, err := etcd.Open(ctx, etcd.Config{Endpoints: []string{"unix://" + folder + "/a:1"}, Prefix: "bellows"})
	require.NoError(t, err)
	defer r.Close()
	value := bytes.Repeat([]byte("x"), registry.ValueBytesMost)
	full := error(nil)
	for range 2 * quota / len(value) {
		if _, full = r.Put(ctx, "jobs/00000001", value, 0); full != nil {
			break
		}
	}
	if !errors.Is(full, registry.ErrFull) || bellows.KindOf(full) != bellows.CannotWrite {
		t.Errorf("a full member says %v", full)
	}
	if e, err := r.Get(ctx, "jobs/00000001"); err != nil || !bytes.Equal(e.Value, value) {
		t.Errorf("it has %d bytes: %v", len(e.Value), err)
	}
}
