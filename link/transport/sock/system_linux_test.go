package sock

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bellows"
	"bellows/internal/require"
	"bellows/link/transport"
)

func TestUsersAreCompared(t *testing.T) {
	t.Parallel()
	if err := compare(unix.Ucred{Pid: 7, Uid: 1000}, 1000); err != nil {
		t.Error(err)
	}
	for _, own := range []int{0, 999} {
		if err := compare(unix.Ucred{Pid: 7, Uid: 1000}, own); err == nil || !strings.Contains(err.Error(), "process 7") {
			t.Errorf("user 1000 passes for %d: %v", own, err)
		}
	}
}

// TestSameUserAsksTheKernel connects to itself: both ends are this process.
func TestSameUserAsksTheKernel(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	c, err := net.Dial("unix", path)
	require.NoError(t, err)
	if err := sameUser(c); err != nil {
		t.Error(err)
	}
	c.Close()
	if err := sameUser(c); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection that cannot be asked passes: %v", err)
	}
}

// nodeChecking returns the transport of a node that checks users by the given function.
func nodeChecking(t *testing.T, node bellows.NodeID, check func(net.Conn) error) *sockets {
	t.Helper()
	c, err := transport.Config{Self: transport.Hello{Node: node, Token: transport.Token{1}}}.WithDefaults()
	require.NoError(t, err)
	return &sockets{config: c, check: check}
}

// meet connects two transports.
func meet(t *testing.T, dialler, listener *sockets, address string) (dialled, accepted transport.Conn, dialErr, acceptErr error) {
	t.Helper()
	l, err := listener.Listen(address)
	require.NoError(t, err)
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		dialled, dialErr = dialler.Dial(t.Context(), l.Address())
	}()
	accepted, acceptErr = l.Accept(t.Context())
	<-done
	return dialled, accepted, dialErr, acceptErr
}

// TestOtherUsersAreRefused lets either side find another user at the other end. The dialling side then sends nothing.
func TestOtherUsersAreRefused(t *testing.T) {
	t.Parallel()
	foreign := func(net.Conn) error { return compare(unix.Ucred{Pid: 7, Uid: 4711}, os.Geteuid()) }
	for name, c := range map[string]struct {
		dial, accept func(net.Conn) error
		told         string // what the listening side knows
	}{
		"the listener's": {foreign, sameUser, "closed the connection"},
		"the dialler's":  {sameUser, foreign, "user 4711"},
	} {
		address := "unix:" + filepath.Join(t.TempDir(), "s", "s")
		_, _, dialErr, acceptErr := meet(t, nodeChecking(t, 1, c.dial), nodeChecking(t, 2, c.accept), address)
		if dialErr == nil || !strings.Contains(dialErr.Error(), "user 4711") {
			t.Errorf("%s user, dialled: %v", name, dialErr)
		}
		if acceptErr == nil || !strings.Contains(acceptErr.Error(), c.told) {
			t.Errorf("%s user, accepted: %v", name, acceptErr)
		}
	}
}

// TestConnectionsAreWatched asks the kernel what it does about hosts that vanish, at both ends.
func TestConnectionsAreWatched(t *testing.T) {
	t.Parallel()
	a, b, dialErr, acceptErr := meet(t, nodeChecking(t, 1, sameUser), nodeChecking(t, 2, sameUser), "tcp:127.0.0.1:0")
	require.NoError(t, errors.Join(dialErr, acceptErr))
	defer a.Close()
	defer b.Close()
	for _, c := range []transport.Conn{a, b} {
		for _, option := range []struct {
			name               string
			level, what, wants int
		}{
			{"no delay", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
			{"keep-alive", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{"idle seconds", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 10},
			{"seconds between probes", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
			{"probes", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
			{"milliseconds unacknowledged", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 25_000},
		} {
			err := control(c.(*conn).net.(*net.TCPConn), func(fd int) error {
				got, err := unix.GetsockoptInt(fd, option.level, option.what)
				if got != option.wants {
					t.Errorf("%s: %s is %d, not %d", c.Remote(), option.name, got, option.wants)
				}
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", option.name, err)
			}
		}
	}
}

// TestLocalKeepsOthersOut closes what another user's process opens, and takes what comes after.
func TestLocalKeepsOthersOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s", "s")
	l, err := ListenLocal(path)
	require.NoError(t, err)
	defer l.Close()
	foreign := true
	guarded := local{l.(local).Listener, func(net.Conn) error {
		if foreign {
			foreign = false
			return compare(unix.Ucred{Pid: 7, Uid: 4711}, os.Geteuid())
		}
		return nil
	}}
	first, err := DialLocal(t.Context(), path)
	require.NoError(t, err)
	defer first.Close()
	second, err := DialLocal(t.Context(), path)
	require.NoError(t, err)
	defer second.Close()
	far, err := guarded.Accept()
	require.NoError(t, err)
	defer far.Close()
	if n, err := first.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the foreign process reads %d bytes, %v", n, err)
	}
	if _, err := far.Write([]byte{1}); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(second, make([]byte, 1)); err != nil {
		t.Errorf("the second one is not served: %v", err)
	}
}

// TestAcknowledgedBytesAreCounted sends to a peer that reads: when all has arrived the connection is idle. Then the peer
// stops: bytes stay unacknowledged, and the connection is busy for as long. The last figures stay. A Unix socket knows nothing.
func TestAcknowledgedBytesAreCounted(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"tcp": "tcp:127.0.0.1:0", "unix": "unix:" + filepath.Join(t.TempDir(), "s", "s")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, dialErr, acceptErr := meet(t, nodeChecking(t, 1, sameUser), nodeChecking(t, 2, sameUser), address)
			require.NoError(t, errors.Join(dialErr, acceptErr))
			defer b.Close()
			c := a.(transport.SendMeter)
			bytes, _, told := c.Acknowledged()
			if told != (name == "tcp") || told != (bytes > 0) {
				t.Fatalf("%d bytes, told: %v", bytes, told)
			}
			if told {
				acknowledge(t, c, b.(*conn).net)
			}
			require.NoError(t, c.Close())
		})
	}
}

// acknowledge wants what the other end reads acknowledged, and time to pass while it does not.
func acknowledge(t *testing.T, c transport.SendMeter, far net.Conn) {
	t.Helper()
	const size = 1 << 20
	before, _, _ := c.Acknowledged()
	read := make(chan error, 1)
	go func() {
		_, err := io.CopyN(io.Discard, far, size)
		read <- err
	}()
	require.NoError(t, c.WriteFrames([][]byte{make([]byte, size)}))
	require.NoError(t, <-read)
	bytes, busy, _ := c.Acknowledged()
	for ; bytes < before+size; bytes, busy, _ = c.Acknowledged() { // acknowledgements are on their way
		<-time.After(time.Millisecond)
	}
	const handshake = 200
	if bytes > before+size+handshake {
		t.Errorf("%d bytes acknowledged of %d", bytes-before, size)
	}
	const ticks = 50 * time.Millisecond // several of the kernel's
	for was := busy - 1; busy != was; { // until it is idle: then busy time does not grow
		<-time.After(ticks)
		was = busy
		_, busy, _ = c.Acknowledged()
	}
	for rest := [][]byte(nil); len(rest) == 0 || len(rest[0]) < size; { // until the system takes no more
		rest = c.(transport.NonBlockingConn).TryFrames([][]byte{make([]byte, size)})
	}
	now := busy
	for ; now < busy+ticks; _, now, _ = c.Acknowledged() {
		<-time.After(time.Millisecond)
	}
	require.NoError(t, c.Close())
	last, lasted, told := c.Acknowledged()
	if !told || last < bytes || lasted < now {
		t.Errorf("%d bytes and %v after the end, %d and %v before", last, lasted, bytes, now)
	}
}
