package sock

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bellows/transport"
)

func TestUsersAreCompared(t *testing.T) {
	t.Parallel()
	if err := compare(syscall.Ucred{Pid: 7, Uid: 1000}, 1000); err != nil {
		t.Error(err)
	}
	for _, own := range []int{0, 999} {
		if err := compare(syscall.Ucred{Pid: 7, Uid: 1000}, own); err == nil || !strings.Contains(err.Error(), "process 7") {
			t.Errorf("user 1000 passes for %d: %v", own, err)
		}
	}
}

// TestSameUserAsksTheKernel connects to itself: both ends are this process.
func TestSameUserAsksTheKernel(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := sameUser(c); err != nil {
		t.Error(err)
	}
	c.Close()
	if err := sameUser(c); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection that cannot be asked passes: %v", err)
	}
}

// TestOtherUsersAreRefused has either side find another user at the other end.
func TestOtherUsersAreRefused(t *testing.T) {
	t.Parallel()
	foreign := func(net.Conn) error { return compare(syscall.Ucred{Pid: 7, Uid: 4711}, os.Geteuid()) }
	config := func(node uint16) transport.Config {
		c, err := transport.Config{Self: transport.Hello{Node: 0, Number: node, Token: transport.Token{1}}}.Filled()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, c := range map[string]struct {
		dial, accept func(net.Conn) error
		bothKnow     bool
	}{
		"the listener's": {foreign, sameUser, false},
		"the dialler's":  {sameUser, foreign, true},
	} {
		l, err := (&sockets{config(0), c.accept}).Listen("unix:" + filepath.Join(t.TempDir(), "s", "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		failed := make(chan error)
		go func() {
			_, err := (&sockets{config(1), c.dial}).Dial(t.Context(), l.Address())
			failed <- err
		}()
		_, acceptErr := l.Accept(t.Context())
		dialErr := <-failed
		if dialErr == nil || !strings.Contains(dialErr.Error(), "user 4711") {
			t.Errorf("%s user, dialled: %v", name, dialErr)
		}
		if acceptErr == nil || strings.Contains(acceptErr.Error(), "user 4711") != c.bothKnow {
			t.Errorf("%s user, accepted: %v", name, acceptErr)
		}
	}
}
