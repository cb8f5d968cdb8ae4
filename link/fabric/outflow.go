package fabric

import (
	"sync"
	"sync/atomic"
	"time"

	"bellows/core/tally"
	"bellows/link/transport"
)

// outflow measures what a peer sends, over all its connections: by what the other machine has acknowledged, or, if a
// connection does not know that, by the frames that were written and the time of writes that may wait. It outlives its
// peer.
//
// The holder of the peer's writing counts, without a lock. mu guards the rest, and nothing is locked while it is held
// but the figures of the connection.
type outflow struct {
	frames  atomic.Int64 // bytes of frames that have left
	waiting atomic.Int64 // nanoseconds of writes that may wait

	mu   sync.Mutex
	conn transport.SendMeter // nil: none, or one that does not measure
	past tally.Link          // of connections that have ended
	from tally.Link          // frames and waiting that past has
}

// wrote counts the bytes of frames that have left.
func (o *outflow) wrote(bytes int64) { o.frames.Add(bytes) }

// waited counts the time of a write that may have waited.
func (o *outflow) waited(nanoseconds int64) { o.waiting.Add(nanoseconds) }

// begin measures a connection from now on.
func (o *outflow) begin(conn transport.Conn) {
	o.mu.Lock()
	o.conn, _ = conn.(transport.SendMeter)
	o.mu.Unlock()
}

// end notes that the connection, if there is one, has been closed.
func (o *outflow) end() {
	o.mu.Lock()
	o.past = o.total()
	o.conn, o.from = nil, o.written()
	o.mu.Unlock()
}

// load adds what has been sent so far.
func (o *outflow) load(to *tally.Link) {
	o.mu.Lock()
	t := o.total()
	o.mu.Unlock()
	to.Bytes += t.Bytes
	to.Busy += t.Busy
}

func (o *outflow) written() tally.Link {
	return tally.Link{Bytes: o.frames.Load(), Busy: time.Duration(o.waiting.Load())}
}

// total returns what was sent over all connections. Its caller holds the lock.
func (o *outflow) total() (l tally.Link) {
	w := o.written()
	l = tally.Link{Bytes: w.Bytes - o.from.Bytes, Busy: w.Busy - o.from.Busy}
	if o.conn != nil {
		if bytes, busy, told := o.conn.Acknowledged(); told {
			l = tally.Link{Bytes: bytes, Busy: busy}
		}
	}
	l.Bytes += o.past.Bytes
	l.Busy += o.past.Busy
	return l
}

// Links adds to a list what has been sent to each node, lost ones included; busy times of several connections to one node
// add up. Nodes to which nothing was sent are left out.
func (m *Mesh) Links(list []tally.Link) []tally.Link {
	for n, a := range *m.pairs.Load() {
		if a == nil {
			continue
		}
		l := tally.Link{To: uint16(n)}
		for _, o := range a.out {
			o.load(&l)
		}
		if l.Bytes > 0 || l.Busy > 0 {
			list = append(list, l)
		}
	}
	return list
}
