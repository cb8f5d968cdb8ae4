package sock_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/link/transport/transporttest"
)

func TestLocalStreams(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs", "one")
	l, err := sock.ListenLocal(path)
	require.NoError(t, err)
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, not %v (%v)", name, info.Mode().Perm(), want, err)
		}
	}
	if _, err := sock.ListenLocal(path); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("a second listener: %v", err)
	}
	taken := make(chan net.Conn, 2)
	go func() {
		for range cap(taken) { // the second listener's knock, then ours
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
			}
			taken <- c
		}
	}()
	c, err := sock.DialLocal(t.Context(), path)
	require.NoError(t, err)
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, c.Close())
	(<-taken).Close()
	far := <-taken
	defer far.Close()
	if got, err := io.ReadAll(far); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	require.NoError(t, l.Close())
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
	if _, err := sock.DialLocal(t.Context(), path); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("nobody listens: %v", err)
	}
}

func open(t *testing.T, c transport.Config) transport.Transport {
	t.Helper()
	s, err := sock.New(c)
	require.NoError(t, err)
	return s
}

func stranger(t *testing.T, address string) {
	t.Helper()
	network, place, _ := strings.Cut(address, ":")
	c, err := net.Dial(network, place)
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { c.Close() })
}

func TestTCPConforms(t *testing.T) {
	t.Parallel()
	transporttest.Run(t, open, func(*testing.T) string { return "tcp:127.0.0.1:0" }, stranger)
}

func TestUnixConforms(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "s") // the transport makes it
	var next atomic.Int64
	transporttest.Run(t, open, func(*testing.T) string { return fmt.Sprintf("unix:%s/%d", folder, next.Add(1)) }, stranger)
}
