package sock

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/link/secure"
	"bellows/link/transport"
	"bellows/link/transport/transporttest"
)

func issuer(t testing.TB) *secure.Authority {
	t.Helper()
	a, err := secure.NewAuthority("a test")
	require.NoError(t, err)
	return a
}

// far returns a node that treats all connections as between two hosts. by issues its certificate; nil: it has none.
func far(t testing.TB, c transport.Config, by *secure.Authority, as secure.Name) *sockets {
	t.Helper()
	i, err := secure.NewIdentity()
	if err == nil && by != nil {
		err = by.Certify(i, as)
	}
	var s transport.Transport
	if err == nil {
		s, err = Secured(c, i)
	}
	require.NoError(t, err)
	s.(*sockets).plain = func(net.Conn) bool { return false }
	return s.(*sockets)
}

// TestTLSConforms: what every transport must do, this one does over TLS.
func TestTLSConforms(t *testing.T) {
	t.Parallel()
	a := issuer(t)
	transporttest.Run(t, func(t *testing.T, c transport.Config) transport.Transport {
		if _, err := c.WithDefaults(); err != nil {
			t.Fatal(err)
		}
		return far(t, c, a, NodeName(c.Self.Node))
	}, func(*testing.T) string { return "tcp:127.0.0.1:0" }, func(t *testing.T, address string) {
		c, err := net.Dial("tcp", strings.TrimPrefix(address, "tcp:"))
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { c.Close() })
	})
}

func hello(n bellows.NodeID) transport.Config {
	return transport.Config{Self: transport.Hello{Node: n, Token: transport.Token{1}}}
}

// TestWrongCertificateIsRejected checks that both sides know why: a certificate of another job, node or role, none, and
// a side that does not encrypt where the other does. Another try helps with none of these.
func TestWrongCertificateIsRejected(t *testing.T) {
	t.Parallel()
	a, b := issuer(t), issuer(t)
	plainly := func(n bellows.NodeID) *sockets {
		s, err := New(hello(n))
		require.NoError(t, err)
		return s.(*sockets)
	}
	for name, c := range map[string]struct {
		dialler, listener *sockets
		dialled, accepted string
		hopeless          bool // the dialler does not try again
	}{
		"another job's caller":   {far(t, hello(2), b, NodeName(2)), far(t, hello(1), a, NodeName(1)), "another authority", "it has refused this side's TLS or certificate", true},
		"another node's caller":  {far(t, hello(2), a, NodeName(3)), far(t, hello(1), a, NodeName(1)), "it says that it is node 2, and its certificate is of node node-3", "its certificate is of node node-3", true},
		"another node's answer":  {far(t, hello(2), a, NodeName(2)), far(t, hello(1), a, NodeName(3)), "it says that it is node 1, and its certificate is of node node-3", "", true},
		"another role's answer":  {far(t, hello(2), a, NodeName(2)), far(t, hello(1), a, secure.Name{Role: secure.Agent, ID: "node-1"}), "it is agent node-1, and no node", "it has refused", true},
		"another role's caller":  {far(t, hello(2), a, secure.Name{Role: secure.Agent, ID: "node-2"}), far(t, hello(1), a, NodeName(1)), "its certificate is of agent node-2", "its certificate is of agent node-2", true},
		"an answer without one":  {far(t, hello(2), a, NodeName(2)), far(t, hello(1), nil, secure.Name{}), "it has refused", "holds no certificate yet", true},
		"plain text to TLS":      {plainly(2), far(t, hello(1), a, NodeName(1)), "", "it does not speak TLS, which is wanted here", false},
		"TLS to what knows none": {far(t, hello(2), a, NodeName(2)), plainly(1), "it closed the connection instead of speaking TLS", "it speaks TLS, and this side does not", false},
	} {
		_, _, dialErr, acceptErr := meet(t, c.dialler, c.listener, "tcp:127.0.0.1:0")
		if dialErr == nil || !strings.Contains(dialErr.Error(), c.dialled) || c.hopeless != (bellows.KindOf(dialErr) == bellows.Refused) {
			t.Errorf("%s, dialled: %v", name, dialErr)
		}
		if c.accepted != "" && (acceptErr == nil || !strings.Contains(acceptErr.Error(), c.accepted)) {
			t.Errorf("%s, accepted: %v", name, acceptErr)
		}
	}
}

// TestCallerWithoutACertificate checks that such a caller learns in the handshake that it needs a certificate.
func TestCallerWithoutACertificate(t *testing.T) {
	t.Parallel()
	is := identified{sealed: true, err: errors.New("it shows no certificate")}
	if err := is.node(transport.Hello{Node: 1}); err == nil || !strings.Contains(err.Error(), "it shows no certificate") {
		t.Errorf("it passes: %v", err)
	}
	if err := (identified{}).node(transport.Hello{Node: 1}); err != nil {
		t.Errorf("within a host: %v", err)
	}
}

// TestWithinAHostNothingIsEncrypted: the connections of Secured are those of New there, with all their ways to write.
func TestWithinAHostNothingIsEncrypted(t *testing.T) {
	t.Parallel()
	a := issuer(t)
	x, y := far(t, hello(1), a, NodeName(1)), far(t, hello(2), a, NodeName(2))
	x.plain, y.plain = secure.SameHost, secure.SameHost
	for _, address := range []string{"tcp:127.0.0.1:0", "unix:" + t.TempDir() + "/s/s"} {
		dialled, accepted, dialErr, acceptErr := meet(t, x, y, address)
		require.NoError(t, errors.Join(dialErr, acceptErr))
		for _, end := range []transport.Conn{dialled, accepted} {
			if c := end.(*conn); c.over != nil || c.try == nil || c.raw == nil {
				t.Errorf("%s: it is encrypted, or cannot write at once", address)
			}
			end.Close()
		}
	}
}

// TestStalledTLSPeerTimesOut checks that the time starts again whenever bytes leave.
func TestStalledTLSPeerTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		b := &below{Conn: x, in: x, stall: 10 * time.Second}
		b.gathered = append(b.gathered, make([]byte, 64)...)
		read := make(chan error, 1)
		go func() {
			_, err := io.ReadFull(y, make([]byte, 32))
			<-time.After(8 * time.Second)
			_, again := io.ReadFull(y, make([]byte, 16))
			read <- errors.Join(err, again)
		}()
		began := time.Now()
		err := b.pushOut()
		if err == nil || err.Error() != "it took no byte for 10s: i/o timeout" || time.Since(began) != 20*time.Second {
			t.Errorf("after %v it ends with %v", time.Since(began), err)
		}
		if err := <-read; err != nil {
			t.Error(err)
		}
		x.Close()
		y.Close()
	})
}
