package sock_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/transport/sock"
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
