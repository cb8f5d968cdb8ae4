package sim

import (
	"fmt"

	"bellows/session"
	"bellows/sim/internal/parcel"
	"bellows/sim/internal/schedule"
	"bellows/wire"
)

// link is one node's end of its connection with another, and the way there. There are two kinds of networks. On a
// lossy one packets are lost, repeated and reordered, and a session mends that. On one of streams a connection
// loses nothing and keeps order, until it ends, with all that is under way: as transport promises.
type link struct {
	w         *world
	from, to  *node
	back      *link // the other end
	weather   schedule.Weather
	muteUntil int64 // what is sent before is lost
	dead      bool  // this end is closed: nothing is sent or taken any more
	told      bool  // and its node knows
	epoch     int   // of the connection: what was under way when it was reset does not arrive

	// On a lossy network.
	end     session.End
	sent    uint64 // envelopes
	acked   uint64 // of these
	stalled int64  // milliseconds in which nothing new was acknowledged
	latest  int64  // when the last packet so far arrives
	packets []session.Packet
	arrived []wire.Envelope

	// On a network of streams.
	pipe    []frame
	doomed  bool        // what is sent is lost: something before it was
	garble  bool        // the next frame is damaged on its way
	refused bool        // this end has ended it for what came: it says no more
	joiner  wire.Joiner // of what comes to this end
}

// frame is something under way on a stream.
type frame struct {
	envelope wire.Envelope
	bytes    []byte // of the frame, where messages pass through the codec
	more     bool   // parts of the message follow
	fin      bool   // the other end has closed
	damaged  bool
}

func (f *frame) urgent() bool {
	return !f.fin && (f.envelope.From.Role == wire.Controller || f.envelope.To.Role == wire.Controller)
}

// How long a peer may take no byte until a connection is given up: on streams, as transport.Config has it, from the
// first lost byte on; on a lossy network, where a stopped peer acknowledges nothing, longer than any stop that
// somebody else would judge.
const (
	streamStall = 3000
	lossyStall  = 9000
)

// goodbye is how long a node needs to see that a connection has ended, when its actors have taken what came before.
const goodbye = 3

// connect joins every two nodes.
func (w *world) connect() {
	for _, a := range w.nodes {
		a.links = make([]*link, len(w.nodes))
		for _, b := range w.nodes {
			if a != b {
				a.links[b.id] = &link{w: w, from: a, to: b, weather: w.Weather[a.id][b.id]}
			}
		}
	}
	for _, a := range w.nodes {
		for _, l := range a.links {
			if l != nil {
				l.back = w.nodes[l.to.id].links[a.id]
			}
		}
	}
	if !w.Streams {
		w.After(resendEvery, nil, w.resend)
	}
}

// send puts a message on its way.
func (l *link) send(e wire.Envelope) {
	switch {
	case l.dead:
	case l.w.Streams && l.w.Codec:
		l.encode(e)
	case l.w.Streams:
		l.write(frame{envelope: e})
	default:
		l.sent++
		l.transmit(l.end.Send(e))
	}
}

// resend tells every session end the time. An end that is not acknowledged for too long is given up.
func (w *world) resend() {
	for _, n := range w.nodes {
		if n.done() || n.pausedUntil > w.Now {
			continue
		}
		for _, l := range n.links {
			if l != nil && !l.dead && !l.end.Idle() {
				l.tick()
			}
		}
	}
	w.After(resendEvery, nil, w.resend)
}

func (l *link) tick() {
	if l.sent > l.acked {
		if l.stalled += resendEvery; l.stalled > lossyStall {
			l.breaks(fmt.Sprintf("it has taken no byte for %.1f s", float64(lossyStall)/1000))
			return
		}
	}
	l.packets = l.end.Tick(l.packets[:0])
	for _, p := range l.packets {
		l.transmit(p)
	}
}

// mute reports whether what is sent now is lost.
func (l *link) mute() bool { return l.w.Now < l.muteUntil }

// transmit puts a packet on its way, once, twice, or not at all.
func (l *link) transmit(p session.Packet) {
	w := l.w
	if l.mute() {
		w.strike(schedule.Cut, l.from, l.to)
		return
	}
	fair := w.Now >= w.CalmAt
	if !fair && w.Chance(l.weather.Drop) {
		w.strike(schedule.Drop, l.from, l.to)
		return
	}
	l.carry(p, fair)
	if !fair && w.Chance(l.weather.Duplicate) {
		w.strike(schedule.Duplicate, l.from, l.to)
		l.carry(p, fair)
	}
}

func (l *link) delay() int64 {
	d := l.weather.Delay
	if l.weather.Jitter > 0 {
		d += l.w.Rng.Int64N(l.weather.Jitter + 1)
	}
	return d
}

// carry takes a packet to the other end in its time, which may be before that of packets sent earlier.
func (l *link) carry(p session.Packet, fair bool) {
	w, delay, epoch := l.w, l.delay(), l.epoch
	if !fair && w.Chance(l.weather.Late) {
		w.strike(schedule.Late, l.from, l.to)
		delay += 1 + w.Rng.Int64N(schedule.LateMax)
	}
	if w.Now+delay < l.latest {
		w.strike(schedule.Reorder, l.from, l.to)
	}
	l.latest = max(l.latest, w.Now+delay)
	w.After(delay, l.to, func() {
		if epoch == l.epoch && !l.back.dead {
			l.back.receive(p)
		}
	})
}

// receive hands on what a packet makes deliverable.
func (l *link) receive(p session.Packet) {
	if p.Ack > l.acked {
		l.acked, l.stalled = p.Ack, 0
	}
	l.arrived = l.end.Receive(p, l.arrived[:0])
	for _, e := range l.arrived {
		if l.w.Codec {
			l.deliver(e, l.w.recode(e))
		} else {
			l.deliver(e, l.w.copied(e))
		}
	}
}

// deliver gives a message that has arrived at this end to its actor, as it was received: a copy of what was sent.
func (l *link) deliver(e, received wire.Envelope) {
	w := l.w
	l.from.heard[l.to.id]++
	sum := w.verifySent(e)
	if err := l.from.guard.Message(wire.Header{From: e.From, To: e.To}, e); err != nil {
		w.violated("the guard refuses what a node sends: %v", err)
	}
	if a := w.actors[e.To]; a != nil && received.Message != nil {
		a.put(letter{envelope: received, digest: sum})
	}
}

// write puts a frame into a stream. What a mute that ends soon keeps back is only late.
func (l *link) write(f frame) {
	w := l.w
	until := w.Now
	switch {
	case l.doomed:
		return
	case l.mute() && l.muteUntil-w.Now < streamStall:
		w.strike(schedule.Cut, l.from, l.to)
		until = l.muteUntil
	case l.mute(), l.to.vanished, l.back.dead && !f.fin:
		l.doom()
		return
	}
	if l.garble && !f.fin {
		l.garble, f.damaged = false, true
	}
	l.pipe = append(l.pipe, f)
	l.overtake()
	epoch := l.epoch
	l.latest = max(l.latest, until+l.delay())
	w.After(l.latest-w.Now, l.to, func() {
		if epoch == l.epoch {
			l.arrive()
		}
	})
}

// encode puts a message into a stream as frames, several where it is long.
func (l *link) encode(e wire.Envelope) {
	frames := parcel.Encode(e, l.w.Formats)
	for i, b := range frames {
		l.write(frame{envelope: e, bytes: b, more: i < len(frames)-1})
	}
}

// take delivers the message of a frame that has arrived at this end, if it ends with it.
func (l *link) take(f frame) {
	if f.bytes == nil {
		l.deliver(f.envelope, l.w.copied(f.envelope))
	} else if e := l.w.receive(&l.joiner, f); !f.more {
		l.deliver(f.envelope, e)
	}
}

// overtake lets what the controller says or hears pass some of what others say and is not there yet: a node's shell sends it
// first (docs/5-wire.md).
func (l *link) overtake() {
	last := len(l.pipe) - 1
	before := last
	for before > 0 && l.pipe[last].urgent() && !l.pipe[before-1].urgent() {
		before--
	}
	if before == last {
		return
	}
	at := before + l.w.Rng.IntN(last-before+1)
	if at < last {
		l.w.happened[overtaken] = true
	}
	if at > 0 && l.pipe[at-1].more {
		l.w.happened[partsOvertaken] = true
	}
	f := l.pipe[last]
	copy(l.pipe[at+1:], l.pipe[at:last])
	l.pipe[at] = f
}

// doom loses a frame and all after it. This end learns of it: from the other one, if that has closed and can be heard,
// else when nothing has been acknowledged for too long.
func (l *link) doom() {
	l.doomed = true
	patience := int64(streamStall)
	reason := fmt.Sprintf("it has taken no byte for %.1f s", float64(streamStall)/1000)
	if !l.mute() && !l.back.mute() && !l.to.vanished {
		patience, reason = 1+l.w.Rng.Int64N(5), "connection reset by peer"
	}
	l.w.After(patience, l.from, func() { l.breaks(reason) })
}

// arrive takes the next frame out of the stream. One that does not decode ends the connection.
func (l *link) arrive() {
	f := l.pipe[0]
	l.pipe = l.pipe[1:]
	switch {
	case l.back.dead:
	case f.fin:
		l.w.After(goodbye, l.to, func() { l.back.breaks("EOF") })
	case f.damaged:
		l.w.decodeDamaged(f.envelope)
		l.back.refused = true
		l.back.breaks("a frame was refused")
	default:
		l.back.take(f)
	}
}

// close ends this end in peace; on a stream the other end hears of it, after all that was sent.
func (l *link) close() {
	if l.dead {
		return
	}
	if l.w.Streams {
		l.write(frame{fin: true})
	}
	l.dead = true
}

// breaks ends this end, and tells its node why.
func (l *link) breaks(reason string) {
	l.close()
	if !l.told {
		l.told = true
		l.from.disconnected(l.to, reason)
	}
}

// reset loses all that is under way between two nodes. On a lossy network their sessions go on; a stream ends.
func (l *link) reset() {
	for _, end := range [2]*link{l, l.back} {
		end.epoch++
		end.pipe = nil
	}
	if !l.w.Streams {
		return
	}
	for _, end := range [2]*link{l, l.back} {
		end.dead = true
		if !end.back.mute() {
			l.w.After(1+l.w.Rng.Int64N(5), end.from, func() { end.breaks("connection reset by peer") })
		}
	}
}
