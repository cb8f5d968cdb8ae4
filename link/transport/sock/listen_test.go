package sock_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/link/transport"
)

func node(id bellows.NodeID) transport.Config {
	return transport.Config{Self: transport.Hello{Node: id, Token: transport.Token{1}}}
}

// listen opens a listener of node 2 until the test ends.
func listen(t *testing.T, c transport.Config, address string) transport.Listener {
	t.Helper()
	l, err := open(t, c).Listen(address)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func TestUnixFilesArePrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b", "s")
	l := listen(t, node(2), "unix:"+path)
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, not %v (%v)", name, info.Mode(), want, err)
		}
	}
	l.Close()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
}

// TestStaleSocketsAreReplaced leaves the file of a dead process behind.
func TestStaleSocketsAreReplaced(t *testing.T) {
	t.Parallel()
	folder := private(t)
	path := filepath.Join(folder, "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	dead.Close()
	l := listen(t, node(2), "unix:"+path)
	connect(t, l)
}

// connect dials and accepts once.
func connect(t *testing.T, l transport.Listener) {
	t.Helper()
	failed := make(chan error)
	go func() {
		c, err := open(t, node(1)).Dial(t.Context(), l.Address())
		if err == nil {
			c.Close()
		}
		failed <- err
	}()
	c, err := l.Accept(t.Context())
	if err == nil {
		c.Close()
	}
	require.NoError(t, errors.Join(err, <-failed))
}

// private returns a folder for sockets.
func private(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Chmod(folder, 0o700))
	return folder
}

func TestUnsoundPathsAreRefused(t *testing.T) {
	t.Parallel()
	shared, closed := private(t), private(t)
	require.NoError(t, os.Chmod(shared, 0o750))
	text := filepath.Join(closed, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("keep me"), 0o600))
	live := listen(t, node(2), "unix:"+filepath.Join(closed, "live"))
	for address, want := range map[string]string{
		"unix:" + shared + "/s":             "chmod 700",
		"unix:" + text:                      "no socket",
		live.Address():                      "another process listens",
		"unix:" + text + "/s":               "not a directory",
		"unix:/" + strings.Repeat("x", 200): "shorter name",
		"unix:":                             "unix:PATH",
		"udp:127.0.0.1:1":                   "tcp:HOST:PORT",
		"127.0.0.1:0":                       "tcp:HOST:PORT",
		"tcp:127.0.0.1":                     "port",
	} {
		l, err := open(t, node(3)).Listen(address)
		if l != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: want %q, got %v", address, want, err)
		}
	}
	if b, err := os.ReadFile(text); string(b) != "keep me" {
		t.Errorf("the file of another kind is now %q, %v", b, err)
	}
	if _, err := open(t, node(1)).Dial(t.Context(), "127.0.0.1:1"); bellows.KindOf(err) != bellows.Config {
		t.Errorf("dialled an address of no form: %v", err)
	}
}

// TestUnknownCallersAreRejected connects programs that speak otherwise, or not at all, and then a node.
func TestUnknownCallersAreRejected(t *testing.T) {
	t.Parallel()
	hasty := node(2)
	hasty.GreetTimeout = 20 * time.Millisecond
	for _, address := range []string{"tcp:127.0.0.1:0", "unix:" + filepath.Join(private(t), "s")} {
		l := listen(t, hasty, address)
		network, place, _ := strings.Cut(l.Address(), ":")
		for said, want := range map[string]string{
			"":                                 "no handshake within 20ms",
			"BELLOWS\n":                        "no handshake within 20ms",
			strings.Repeat("GET / HTTP", 10):   "another program",
			strings.Repeat("\x16\x03\x01", 20): "it speaks TLS, and this side does not",
		} {
			c, err := net.Dial(network, place)
			require.NoError(t, err)
			defer c.Close()
			if _, err := c.Write([]byte(said)); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Accept(t.Context()); err == nil || errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s was told %q: %v", address, said, err)
			}
		}
	}
}

// TestDialsToStrangersEnd dials a program that accepts and says nothing, and one that hangs up.
func TestDialsToStrangersEnd(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		c.Read(make([]byte, 1)) // the greeting has begun: the dialler waits for an answer
		cancel()
		if c, err := l.Accept(); err == nil {
			c.Close()
		}
	}()
	if _, err := open(t, node(1)).Dial(ctx, "tcp:"+l.Addr().String()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := open(t, node(1)).Dial(t.Context(), "tcp:"+l.Addr().String()); err == nil || !strings.Contains(err.Error(), "closed the connection") {
		t.Errorf("hung up: %v", err)
	}
}

// second is a stream that does something before its second write.
type second struct {
	io.ReadWriter
	writes int
	before func()
}

func (s *second) Write(b []byte) (int, error) {
	if s.writes++; s.writes == 2 {
		s.before()
	}
	return s.ReadWriter.Write(b)
}

// TestHandshakeOutlivesTheWait ends the context of Accept when the dialling side already believes in the connection: it is
// the next Accept's.
func TestHandshakeOutlivesTheWait(t *testing.T) {
	t.Parallel()
	l := listen(t, node(2), "tcp:127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	_, place, _ := strings.Cut(l.Address(), ":")
	c, err := net.Dial("tcp", place)
	require.NoError(t, err)
	defer c.Close()
	greeted := make(chan error)
	go func() {
		config, err := node(1).WithDefaults()
		if err == nil {
			_, err = config.Greet(&second{ReadWriter: c, before: cancel})
		}
		greeted <- err
	}()
	accepted, err := l.Accept(ctx)
	if errors.Is(err, context.Canceled) {
		accepted, err = l.Accept(t.Context())
	}
	require.NoError(t, errors.Join(err, <-greeted))
	accepted.Close()
}
