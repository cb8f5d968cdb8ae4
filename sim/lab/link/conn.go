package link

import (
	"math"

	"bellows/link/session"
	"bellows/link/wire"
)

// Conn is a connection from one node to another. Its messages wait in a session of production.
type Conn[F Frame] struct {
	up, down *port[F]
	budgets  []*Budget
	end      session.End
	synced   bool
	posted   map[posted][]F // the frames of messages that wait in the session
	data     []F            // frames of no message
	aside    []F            // taken: they leave before the next part of current
	current  F              // begun; its parts from at on have not left
	begun    bool
	parts    []int // of the frame that leaves now, with the bytes that have not left
	passing  F     // the frame that leaves now, between two parts of current
	passes   bool
	rest     []int // the same of passing
	waits    bool  // it has a place among the turns of its uplink
	under    int   // bytes under way
	taken    session.Counts
	cuts     session.Cuts
	began    int64 // when current began to leave
	whole    int   // its bytes
	scratch  []wire.Envelope
	flow     *Flow
	held     int // bytes that wait
}

// posted tells messages apart that wait on a connection. One may go to several actors of a node.
type posted struct {
	message  wire.Message
	from, to wire.Address
}

// Cuts returns the lengths of frames and parts on this connection, as fast as it has been.
func (c *Conn[F]) Cuts() (whole, part int) { return c.cuts.Parts() }

// limited reports whether the bytes under way are bounded: nothing waits at a downlink without a rate.
func (c *Conn[F]) limited() bool { return c.down.Down > 0 && (c.up.Up > 0 || len(c.budgets) > 0) }

// post adds a frame to those that wait.
func (c *Conn[F]) post(f F) {
	e, some := f.Envelope()
	if !some {
		c.data = append(c.data, f)
		return
	}
	if !c.synced {
		c.synced = true
		c.posted = map[posted][]F{}
		c.end.Connected()
		c.scratch, _ = c.end.Resume(&wire.Resume{Process: 1}, c.scratch[:0]) // the first of a session is never an error
	}
	k := posted{e.Message, e.From, e.To}
	c.posted[k] = append(c.posted[k], f)
	c.end.Post(e)
}

// waiting reports whether something has not left.
func (c *Conn[F]) waiting() bool {
	return c.begun || c.passes || len(c.aside) > 0 || len(c.data) > 0 || c.synced && c.end.Waiting()
}

// rests reports whether nothing waits, as after the loss of a node, and gives up the connection's place.
func (c *Conn[F]) rests() bool {
	c.waits = c.waiting()
	return !c.waits
}

// ready returns when the next packet may leave.
func (c *Conn[F]) ready(now int64, window int) int64 {
	if c.under >= window {
		return math.MaxInt64
	}
	at := now
	for _, b := range c.budgets {
		at = max(at, b.ready(now))
	}
	return at
}

// take returns the next packet. Of a part that has begun it is the rest; between parts, what may pass leaves first.
func (c *Conn[F]) take(now int64, most int) (p packet[F]) {
	c.choose(now)
	f, parts := c.current, &c.parts
	if c.passes {
		f, parts = c.passing, &c.rest
	}
	p = packet[F]{c: c, f: f, bytes: min((*parts)[0], most)}
	if (*parts)[0] -= p.bytes; (*parts)[0] > 0 {
		return p
	}
	*parts = (*parts)[1:]
	if p.last = len(*parts) == 0; p.last && c.passes {
		c.passes = false
	} else if p.last {
		c.begun = false
	}
	return p
}

// choose makes a frame the one that leaves now. Only between two parts does another come first.
func (c *Conn[F]) choose(now int64) {
	switch {
	case c.passes:
		return
	case c.begun && c.parts[0] < c.length():
		return // in the midst of a part
	}
	if c.synced {
		c.aside = c.take1(session.Urgent, c.aside)
		if c.begun {
			c.scratch = c.end.Between(c.scratch[:0])
			c.aside = c.frames(session.Ordinary, c.aside)
		}
	}
	if len(c.aside) > 0 {
		c.passing, c.aside = c.aside[0], c.aside[1:]
		c.passes, c.rest = true, append(c.rest[:0:0], c.passing.Parts()...)
		return
	}
	if c.begun {
		return
	}
	c.scratch, _ = c.end.Acknowledge(&wire.Ack{Received: c.taken}, c.scratch[:0]) // never more than were taken
	if len(c.data) > 0 {
		c.current, c.data = c.data[0], c.data[1:]
	} else {
		next := c.take1(session.Ordinary, nil)
		c.current = next[0]
	}
	c.begun, c.began, c.whole = true, now, 0
	c.parts = append(c.parts[:0:0], c.current.Parts()...)
	for _, n := range c.parts {
		c.whole += n
	}
}

// length returns the bytes of the part of current that is next, before any of it left.
func (c *Conn[F]) length() int {
	all := c.current.Parts()
	return all[len(all)-len(c.parts)]
}

// take1 appends the next frame of a stream.
func (c *Conn[F]) take1(stream int, to []F) []F {
	c.scratch = c.end.Take(stream, 1, c.scratch[:0])
	return c.frames(stream, to)
}

// frames appends the frames of the messages that were taken of a stream. The session keeps the last long one until it has left:
// what passes it is known by that.
func (c *Conn[F]) frames(stream int, to []F) []F {
	for _, e := range c.scratch {
		k := posted{e.Message, e.From, e.To}
		list := c.posted[k]
		to = append(to, list[0])
		if len(list) == 1 {
			delete(c.posted, k)
		} else {
			c.posted[k] = list[1:]
		}
	}
	c.taken[stream] += uint64(len(c.scratch))
	return to
}

// measure takes the speed of the connection when a packet is through.
func (c *Conn[F]) measure(now int64) {
	if !c.begun && c.whole > 0 {
		c.cuts.Wrote(c.whole, now-c.began)
		c.whole = 0
	}
}

// drop forgets all that waits.
func (c *Conn[F]) drop(now int64) {
	if c.held > 0 {
		c.flow.drop(now, c.held)
	}
	*c = Conn[F]{up: c.up, down: c.down, budgets: c.budgets, waits: c.waits, under: c.under, flow: c.flow}
}
