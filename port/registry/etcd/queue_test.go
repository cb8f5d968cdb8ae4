package etcd

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"bellows"
	"bellows/internal/require"
	"bellows/port/registry"
)

// TestFullQueueStopsRequests checks that a full queue requests no more from etcd until all waiting changes are taken.
func TestFullQueueStopsRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const each = entryBytes + len("ab") + len("cde")
		w := &watch{client: newClient(nil, "a test", "p", WithinDefault), most: 2 * each, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
		put := func(revision int64) bool {
			return w.add([]event{{keyValue: keyValue{key: "p/ab", value: []byte("cde"), modRevision: revision, lease: 7}}})
		}
		if put(3) || put(4) {
			t.Error("it is full before its bound")
		}
		if !put(5) || w.after != 5 {
			t.Errorf("it is not full above its bound, up to revision %d", w.after)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan struct{})
		go func() { w.awaitRoom(ctx); close(waited) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("there is room in what is full")
		default:
		}
		list, err := w.take()
		if err != nil || len(list) != 3 || list[0].Key != "ab" || string(list[0].Value) != "cde" || list[0].Revision != 3 || list[0].Lease != 7 || list[0].Gone {
			t.Errorf("%+v, %v", list, err)
		}
		<-waited
		if put(6) || !w.add([]event{{keyValue: keyValue{key: "p/" + strings.Repeat("k", 2*each), modRevision: 7}, gone: true}}) {
			t.Error("what was taken counts, or what waits does not")
		}
		cancel()
		w.err = registry.ErrBehind
		if list, err := w.take(); err != nil || len(list) != 2 || !list[1].Gone {
			t.Errorf("what came before its end is %+v, %v", list, err)
		}
		if list, err := w.take(); bellows.KindOf(err) != bellows.Lost || list != nil {
			t.Errorf("behind its end is %+v, %v", list, err)
		}
	})
}

// TestInvalidAddressesAreNamed checks that errors omit the secrets in an address, and the limit on their number.
func TestInvalidAddressesAreNamed(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"http://10.0.0.5:2379":              "use etcd at http://10.0.0.5:2379: any process on the network could read and change the traffic",
		"https://me:secret@host:1?password": "use etcd at https://host:1: it is no address of etcd",
		"ftp://127.0.0.1:1":                 "use etcd at ftp://127.0.0.1:1: it is no address of etcd",
		"http://[::1":                       "use etcd at an address that is not shown: it is no address of etcd",
	} {
		if err := CheckEndpoint(at); err == nil || !strings.HasPrefix(err.Error(), want+";") {
			t.Errorf("%s: %v", at, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	many := make([]string, endpointsMost)
	for i := range many {
		many[i] = "unix://nobody:1"
	}
	if _, err := Open(ctx, Config{Endpoints: many, Prefix: "a"}); err == nil || bellows.KindOf(err) == bellows.Config {
		t.Errorf("as many as there may be: %v", err)
	}
}

// electing is etcd while its members choose another leader: the first request is refused.
type electing struct {
	err   error // of the first
	asked int
}

func (e *electing) call(_ context.Context, method string, _ []byte) ([]byte, error) {
	if e.asked++; e.asked == 1 {
		return nil, e.err
	}
	switch method {
	case "KV/Range":
		return appendBytes(nil, 2, appendText(nil, 1, "p/a")), nil
	case "KV/Txn":
		return appendNumber(nil, 2, 1), nil
	}
	return appendNumber(appendNumber(nil, 2, 7), 3, 9), nil
}

func (e *electing) follow(context.Context, string, []byte) (*stream, error) { return nil, e.err }
func (e *electing) close()                                                  {}

// TestHarmlessErrorIsRetried also checks that a request that may have taken effect is not retried.
func TestHarmlessErrorIsRetried(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		ask   func(context.Context, *client) error
		asked int
	}{
		"get":    {func(ctx context.Context, c *client) error { _, err := c.Get(ctx, "a"); return err }, 2},
		"list":   {func(ctx context.Context, c *client) error { _, _, err := c.List(ctx, "a"); return err }, 2},
		"grant":  {func(ctx context.Context, c *client) error { _, err := c.Grant(ctx, registry.LeaseLeast); return err }, 2},
		"renew":  {func(ctx context.Context, c *client) error { return (&granted{client: c}).Renew(ctx) }, 2},
		"revoke": {func(ctx context.Context, c *client) error { return (&granted{client: c}).Revoke(ctx) }, 2},
		"put":    {func(ctx context.Context, c *client) error { _, err := c.Put(ctx, "a", nil, 0); return err }, 1},
		"delete": {func(ctx context.Context, c *client) error { return c.Delete(ctx, "a") }, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &electing{err: &status{code: codeUnavailable, message: "no leader"}}
			err := c.ask(t.Context(), newClient(e, "a test", "p", WithinDefault))
			if e.asked != c.asked || (err == nil) != (c.asked == 2) || c.asked == 1 && bellows.KindOf(err) != bellows.Unavailable {
				t.Errorf("%s: asked %d times, %v", what, e.asked, err)
			}
			e = &electing{err: unsent(net.ErrClosed)}
			if err := c.ask(t.Context(), newClient(e, "a test", "p", WithinDefault)); err != nil || e.asked != 2 {
				t.Errorf("%s that was not sent: asked %d times, %v", what, e.asked, err)
			}
			e = &electing{err: &status{code: codeUnknown, message: "refused"}}
			if err := c.ask(t.Context(), newClient(e, "a test", "p", WithinDefault)); err == nil || e.asked != 1 {
				t.Errorf("%s that was refused: asked %d times, %v", what, e.asked, err)
			}
		})
	}
}

// TestTLSByScheme opens one address of each kind with a TLS configuration, and looks at the first byte that is sent: a
// TLS handshake begins with 22, and HTTP/2 with its preface.
func TestTLSByScheme(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "etcd") // that of a test would be too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	for scheme, want := range map[string]byte{"unix": 'P', "http": 'P', "https": 22} {
		network, at := "tcp", "127.0.0.1:0"
		if scheme == "unix" {
			network, at = "unix", filepath.Join(folder, "s")
		}
		l, err := net.Listen(network, at)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan byte, 1)
		go func() {
			defer cancel() // the test does not answer
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			b := make([]byte, 1)
			if _, err := c.Read(b); err == nil {
				first <- b[0]
			}
		}()
		if _, err := Open(ctx, Config{Endpoints: []string{scheme + "://" + l.Addr().String()}, Prefix: "a", TLS: &tls.Config{}}); err == nil {
			t.Errorf("%s: opened without an answer", scheme)
		}
		select {
		case got := <-first:
			if got != want {
				t.Errorf("%s: the first byte is %d, want %d", scheme, got, want)
			}
		default:
			t.Errorf("%s: nothing was sent", scheme)
		}
		_ = l.Close()
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"https://10.0.0.5:2379", "https://etcd.example:2379/", "http://127.0.0.1:2379", "http://[::1]:2379", "http://localhost:1", "unix:///run/etcd.sock", "unix://registry:1"} {
		if err := CheckEndpoint(at); err != nil {
			t.Error(err)
		}
	}
	for _, at := range []string{"", "10.0.0.5:2379", "http://10.0.0.5:2379", "http://example:2379", "https://host", "ftp://127.0.0.1:1", "https://me:secret@host:1", "https://host:1?a", "https://host:1#a", "unix://", "https://host:1/a", "http://[::1"} {
		err := CheckEndpoint(at)
		if bellows.KindOf(err) != bellows.Config || err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", at, err)
		}
	}
	for _, c := range []Config{{}, {Endpoints: make([]string, endpointsMost+1), Prefix: "a"}, {Endpoints: []string{"unix://a:1"}, Prefix: "A"}, {Endpoints: []string{"http://10.0.0.5:1"}, Prefix: "a"}} {
		if _, err := Open(context.Background(), c); err == nil || bellows.KindOf(err) == bellows.Unavailable {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
