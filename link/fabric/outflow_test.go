package fabric

import (
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/core/tally"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/link/wire"
)

// teller is a connection that knows what was acknowledged.
type teller struct {
	transport.Conn
	bytes int64
	busy  time.Duration
	told  bool
}

func (c *teller) Acknowledged() (int64, time.Duration, bool) { return c.bytes, c.busy, c.told }

// TestOutflowAddsUpConnections replaces a connection by others. The system's figures of a connection count, or else its
// frames and the time of writes.
func TestOutflowAddsUpConnections(t *testing.T) {
	t.Parallel()
	o := &outflow{}
	at := func(bytes int64, busy time.Duration) {
		t.Helper()
		l := tally.Link{To: 3}
		o.load(&l)
		if l != (tally.Link{To: 3, Bytes: bytes, Busy: busy}) {
			t.Errorf("%+v, wanted %d bytes in %v", l, bytes, busy)
		}
	}
	at(0, 0)
	first := &teller{told: true}
	o.begin(first)
	o.wrote(1000)
	at(0, 0) // nothing has arrived
	first.bytes, first.busy = 700, 5
	at(700, 5)
	o.end()
	o.end()        // it has ended before
	o.wrote(100)   // a batch that was under way at the end
	at(700+100, 5) // on its connection
	o.begin(&teller{bytes: 9, busy: 9})
	o.wrote(50)
	o.waited(7)
	at(700+150, 5+7)
	o.end()
	o.begin(silent{})
	o.waited(3)
	o.wrote(1)
	at(700+151, 5+10)
	o.end()
	last := &teller{bytes: 20, busy: 2, told: true}
	o.begin(last)
	o.wrote(4000)
	at(700+151+20, 5+10+2)
}

// silent knows nothing.
type silent struct{ transport.Conn }

// slow is a connection that reads a frame a second.
type slow struct{ transport.Conn }

func (c slow) ReadFrame() (wire.Header, []byte, error) {
	<-time.After(time.Second)
	return c.Conn.ReadFrame()
}

// TestLinksShowASlowReader sends more than a connection holds to a node that reads slowly, in virtual time: the writer
// waits for it, and nothing else takes any. Then nothing is sent, and the link is not busy. A node that is lost keeps its
// counts.
func TestLinksShowASlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := joined(t, mem.New().Join, "")
		lane, client := wire.Address{Role: wire.Lane}, wire.Address{Node: 1}
		const frames, size = 8, 48 << 10
		came := make(chan bool, frames)
		server := exchangeOf(0, []transport.Conn{nil, slow{far}}, func(Loss) {}, lane, func(batch []wire.Envelope, _ *wire.Outbox) {
			for range batch {
				came <- true
			}
		})
		lost := make(chan bool, 1)
		x := exchangeOf(1, []transport.Conn{near, nil}, func(Loss) { lost <- true }, client, func([]wire.Envelope, *wire.Outbox) {})
		began := time.Now()
		for range frames {
			m := wire.New[wire.Rows]()
			m.Incarnation = 1
			p := m.Extend()
			p.Values = append(p.Values, make([]float32, size/4)...)
			x.Send(client, lane, m)
		}
		for range frames {
			<-came
		}
		sent := x.mesh.Links(nil)
		took := time.Since(began)
		if len(sent) != 1 || sent[0].To != 0 || sent[0].Bytes < frames*size || sent[0].Busy < took/2 || sent[0].Busy > took {
			t.Errorf("%+v after %v", sent, took)
		}
		<-time.After(time.Minute)
		if idle := x.mesh.Links(nil); len(idle) != 1 || idle[0] != sent[0] {
			t.Errorf("%+v after a minute, %+v before", idle, sent)
		}
		server.Close()
		<-lost
		if gone := x.mesh.Links(nil); len(gone) != 1 || gone[0].Bytes < sent[0].Bytes || gone[0].Busy < sent[0].Busy || x.mesh.peer(wire.Envelope{From: client, To: lane}) != nil {
			t.Errorf("%+v of a node that is gone, %+v before", gone, sent)
		}
		x.Close()
		if all := server.mesh.Links(nil); len(all) != 1 || bellows.NodeID(all[0].To) != 1 {
			t.Errorf("the server has sent %+v", all)
		}
	})
}
