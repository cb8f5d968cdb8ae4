package fabric

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/link/transport/sock"
	"bellows/link/wire"
)

// open admits whatever comes.
type open struct{}

func (open) Header(bellows.NodeID, wire.Header) error { return nil }
func (open) Message(wire.Header, wire.Envelope) error { return nil }

// exchange is a node without a job.
type exchange struct {
	*Bus
	mesh *Mesh
}

// exchangeOf starts a node with one actor. conns are by number and node, nil for the node itself.
func exchangeOf(self bellows.NodeID, conns []transport.Conn, lost func(Loss), at wire.Address, step func(batch []wire.Envelope, out *wire.Outbox)) exchange {
	m := NewMesh(conns)
	x := exchange{NewBus(self, 0, m), m}
	x.Add(at, step)
	m.Start(x.Bus, Options{Checker: open{}, Lost: lost})
	return x
}

// Close sends what is queued and ends the connections.
func (x exchange) Close() {
	x.mesh.Close()
	x.Bus.Close()
}

// TestExchangeKeepsOrderAndLosesNothing sends messages of all sizes from several goroutines to a node that answers
// each: over a transport whose readers answer at once, and over one where a writer must.
func TestExchangeKeepsOrderAndLosesNothing(t *testing.T) {
	t.Parallel()
	network := mem.New()
	for name, c := range map[string]struct {
		open    func(transport.Config) (transport.Transport, error)
		address string
	}{
		"unix": {sock.New, "unix:" + filepath.Join(privateFolder(t), "s")},
		"tcp":  {sock.New, "tcp:127.0.0.1:0"},
		"mem":  {network.Join, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near, far := joined(t, c.open, c.address)
			exchangeAll(t, near, far)
		})
	}
}

func privateFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Chmod(folder, 0o700))
	return folder
}

// joined returns both ends of a connection from node 1 to node 0.
func joined(t *testing.T, open func(transport.Config) (transport.Transport, error), address string) (near, far transport.Conn) {
	t.Helper()
	var ends [2]transport.Transport
	for n := range ends {
		var err error
		if ends[n], err = open(transport.Config{Self: transport.Hello{Node: bellows.NodeID(n), Token: transport.Token{1}}}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := ends[0].Listen(address)
	require.NoError(t, err)
	defer l.Close()
	dialled := make(chan error)
	go func() {
		var err error
		near, err = ends[1].Dial(t.Context(), l.Address())
		dialled <- err
	}()
	far, err = l.Accept(t.Context())
	require.NoError(t, errors.Join(err, <-dialled))
	return near, far
}

func exchangeAll(t *testing.T, near, far transport.Conn) {
	const senders, each = 3, 400
	lane, client := wire.Address{Role: wire.Lane}, wire.Address{Node: 1}
	lost := func(Loss) {} // closing either end ends the other
	echo := func(batch []wire.Envelope, out *wire.Outbox) {
		for _, e := range batch {
			out.Send(lane, client, e.Message)
		}
	}
	server := exchangeOf(0, []transport.Conn{nil, far}, lost, lane, echo)
	next, answers := [senders]uint64{}, 0
	all := make(chan error, 1)
	answered := func(batch []wire.Envelope, _ *wire.Outbox) {
		for _, e := range batch {
			m := e.Message.(*wire.Rows)
			from, number := m.Request%senders, m.Request/senders
			if number != next[from] {
				all <- fmt.Errorf("sender %d: answer %d came as number %d", from, number, next[from])
			}
			next[from]++
			wire.Free(m)
			if answers++; answers == senders*each {
				all <- nil
			}
		}
	}
	x := exchangeOf(1, []transport.Conn{near, nil}, lost, client, answered)
	for s := range uint64(senders) {
		go func() {
			for i := range uint64(each) {
				m := wire.New[wire.Rows]()
				m.Incarnation = 1
				m.Request = i*senders + s
				p := m.Extend()
				p.Values = append(p.Values, make([]float32, 1<<(i%17))...)
				x.Send(client, lane, m)
			}
		}()
	}
	if err := <-all; err != nil {
		t.Error(err)
	}
	x.Close()
	server.Close()
}
