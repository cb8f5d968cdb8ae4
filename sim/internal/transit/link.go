package transit

import (
	"fmt"

	"bellows/link/session"
	"bellows/link/wire"
	"bellows/sim/internal/hostile"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/schedule"
)

// A link is one node's end of a sequence of connections with another node, which have the same number, and the way to
// the other end. A connection keeps order and loses nothing until it breaks; then it loses all that is under way, as
// transport promises. Production code then makes the next connection and the session resumes, or gives the link up.
//
// There are two kinds of networks: on a breaking one, connections break at random, again and again; on one of streams,
// only where a fault is injected.
//
// An end is up, with a connection as far as it knows; down, while it is made again (redial); or dead, for good. It may be up while the other end knows
// better: each learns of a break in its own time, or never, if the other's host has vanished and nothing is said. epoch numbers the connections: what was
// asked to happen when a frame arrives, has been written, or has been waited for too long, happens only if the connection is still that one (standing).
// So what was under way when a connection broke is lost, as it would be, and nothing of it comes out of the next.
//
// Invariants: frames arrive in the order in which they were written (latest never decreases); a doomed frame dooms all
// frames after it; every message belongs to the session until the other end has acknowledged it, and acknowledged
// messages are given back as package session requires.
//
// Turned down: a network that loses or repeats single frames. No transport does that, and half of the schedules would test code that nothing runs.
type link[N Node] struct {
	*Pair[N]
	number    int
	back      *link[N] // the other end
	muteUntil int64    // what is sent before is lost
	parted    bool     // no connection is made any more
	dead      bool     // this end is closed: nothing is sent or taken any more
	over      bool     // and not by its own node
	closing   bool     // nothing is posted any more, and this end closes when all has left

	end     session.End
	up      bool // this end has a connection, as far as it knows
	epoch   int  // of the connection: what was under way when one broke does not arrive over the next
	hello   bool // the connection's first frame has not been written
	heard   bool // the other end's first frame has come, on this connection or an earlier one
	resumed bool // on this one: what waits may be written
	redial  session.Redial
	pumping bool            // a turn to write is due
	busy    bool            // a frame is being written
	cut     []frame         // parts of the message that is being written
	beside  []wire.Envelope // what is written between them
	passed  int             // of it
	taken   []wire.Envelope
	acked   []wire.Envelope
	pumped  func()      // what happens a little after pump; nil: it has not been made
	arrives func()      // when a frame has arrived over this connection; nil: it has not been made
	written func()      // when one has been written; nil: not made yet
	barren  int         // breaks since a message of this end has come whole
	latest  int64       // when the last frame so far arrives
	pipe    []frame     // under way, from the first that has not arrived on
	arrived int         // of pipe
	parts   []frame     // memory of cut
	urgent  []frame     // memory for one that overtakes
	doomed  bool        // what is sent is lost: something before it was
	garble  bool        // the next frame is damaged on its way
	joiner  wire.Joiner // of what comes to this end
}

// frame is something under way.
type frame struct {
	envelope wire.Envelope
	bytes    []byte // of the frame, where messages pass through the codec
	more     bool   // parts of the message follow
	below    bool   // it is of the session
	damaged  bool
}

// stall is how long a peer may take no byte until a connection is given up, from the first lost byte on, as transport.Config has it.
const stall = 3000

// barrenMost is how often a connection breaks until a message comes whole: one of hundreds of parts never would, where each is as likely as any frame to be the last (seed 152806).
const barrenMost = 32

// goodbye is how long a node needs to see that a connection has ended, when its actors have taken what came before.
const goodbye = 3

// begin gives this end a connection.
func (l *link[N]) begin() {
	l.up, l.hello, l.resumed, l.doomed, l.latest = true, true, false, false, l.w.Now
	l.forget()
	l.cut, l.beside, l.passed, l.joiner = nil, l.beside[:0], 0, wire.Joiner{}
	l.end.Connected()
	l.pump()
}

// forget loses all that is under way, and has what was to happen to it never happen.
func (l *link[N]) forget() {
	l.epoch++
	l.arrives, l.written = nil, nil
	clear(l.pipe)
	l.pipe, l.arrived = l.pipe[:0], 0
}

// standing returns what happens only if the connection stands until then.
func (l *link[N]) standing(do func()) func() {
	epoch := l.epoch
	return func() {
		if epoch == l.epoch {
			do()
		}
	}
}

// send posts a message.
func (l *link[N]) send(e wire.Envelope) {
	if !l.dead && !l.closing {
		if l.end.Post(e) {
			l.from.Return(e)
		}
		l.pump()
	}
}

// pump lets this end write soon: until then more may be posted, and urgent messages overtake.
func (l *link[N]) pump() {
	if !l.pumping && !l.busy && l.up {
		l.pumping = true
		if l.pumped == nil {
			l.pumped = func() {
				l.pumping = false
				l.turn()
			}
		}
		l.w.After(int64(l.w.Rng.IntN(4))/3, l.from, l.pumped)
	}
}

// turn writes what may be written, a frame at a time where the link has a bandwidth.
func (l *link[N]) turn() {
	for l.up && !l.busy && !l.dead {
		f, ok := l.next()
		if !ok {
			return
		}
		l.write(f)
		if l.profile.Bandwidth > 0 && l.up {
			l.busy = true
			l.w.After(int64(l.size(f)*len(l.links))/l.profile.Bandwidth, l.from, l.afterFrame())
		}
	}
}

// afterFrame returns what happens when a frame has been written: the same for all of a connection.
func (l *link[N]) afterFrame() func() {
	if l.written == nil {
		epoch := l.epoch
		l.written = func() {
			l.busy = false
			if epoch == l.epoch {
				l.turn()
			} else {
				l.pump()
			}
		}
	}
	return l.written
}

// size returns the bytes of a frame.
func (l *link[N]) size(f frame) int {
	if f.bytes != nil {
		return len(f.bytes)
	}
	return msgcopy.Size(f.envelope.Message)
}

// next returns the next frame to write, in production's order: the session's own words, what is urgent, and then the rest.
func (l *link[N]) next() (frame, bool) {
	if l.hello {
		l.hello = false
		return frame{envelope: wire.Envelope{Message: l.end.Hello(l.process)}, below: true}, true
	}
	if a := l.end.Ack(); a != nil {
		return frame{envelope: wire.Envelope{Message: a}, below: true}, true
	}
	if l.taken = l.end.Take(session.Urgent, 1, l.taken[:0]); len(l.taken) > 0 {
		l.w.Coverage.HitIf("controller-first", l.end.Waiting())
		l.w.Coverage.HitIf("controller-between-parts", len(l.cut) > 0)
		l.urgent = l.frames(l.urgent[:0], l.taken[0])
		return l.urgent[0], true
	}
	if l.passed == len(l.beside) && len(l.cut) > 0 {
		l.beside, l.passed = l.end.Between(l.beside[:0]), 0
	}
	if l.passed < len(l.beside) {
		l.w.Coverage.Hit("others-between-parts")
		l.passed++
		l.urgent = l.frames(l.urgent[:0], l.beside[l.passed-1])
		return l.urgent[0], true
	}
	if len(l.cut) == 0 {
		if l.taken = l.end.Take(session.Ordinary, 1, l.taken[:0]); len(l.taken) == 0 {
			return frame{}, false
		}
		l.parts = l.frames(l.parts[:0], l.taken[0])
		l.cut = l.parts
	}
	f := l.cut[0]
	l.cut = l.cut[1:]
	return f, true
}

// frames appends a message as it travels: several where it is long and passes through the codec.
func (l *link[N]) frames(list []frame, e wire.Envelope) []frame {
	if !l.w.Codec {
		return append(list, frame{envelope: e})
	}
	encoded := l.w.frames(e)
	for i, b := range encoded {
		list = append(list, frame{envelope: e, bytes: b, more: i < len(encoded)-1})
	}
	return list
}

// mute reports whether what is sent now is lost.
func (l *link[N]) mute() bool { return l.w.Now < l.mutedUntil() }

func (l *link[N]) mutedUntil() int64 { return max(l.muteUntil, l.MuteUntil) }

func (l *link[N]) delay() int64 {
	d := l.profile.Delay
	if l.profile.Jitter > 0 {
		d += l.w.Rng.Int64N(l.profile.Jitter + 1)
	}
	return d
}

// write puts a frame on its way. A mute that ends soon only delays it.
func (l *link[N]) write(f frame) {
	w := l.w
	until, fair := w.Now, w.Now >= w.CalmAt
	switch {
	case l.doomed:
		return
	case l.mute() && l.mutedUntil()-w.Now < stall:
		w.Fault("cut", l.from, l.to)
		until = l.mutedUntil()
	case l.mute(), l.to.Vanished(), l.back.dead:
		l.doom()
		return
	case !fair && l.barren < barrenMost && w.Chance(l.profile.Break):
		l.barren++
		w.Fault("break", l.from, l.to)
		l.breaks("connection reset by peer")
		return
	case !fair && w.Chance(l.profile.Late):
		w.Fault("late", l.from, l.to)
		until += 1 + w.Rng.Int64N(schedule.LateMax)
	}
	if l.garble {
		l.garble, f.damaged = false, true
	}
	l.pipe = append(l.pipe, f)
	if l.arrives == nil {
		l.arrives = l.standing(l.arrive)
	}
	l.latest = max(l.latest, until+l.delay())
	w.After(l.latest-w.Now, l.to, l.arrives)
}

// doom loses a frame and all after it. This end learns of it: from the other one, if that has closed and can be heard,
// else when nothing has been acknowledged for too long.
func (l *link[N]) doom() {
	l.doomed = true
	patience := int64(stall)
	reason := fmt.Sprintf("it has taken no byte for %.1f s", float64(stall)/1000)
	if !l.mute() && !l.back.mute() && !l.to.Vanished() {
		patience, reason = 1+l.w.Rng.Int64N(5), "connection reset by peer"
	}
	l.w.After(patience, l.from, l.standing(func() { l.breaks(reason) }))
}

// arrive takes the next frame off the way. One that does not decode ends the session.
func (l *link[N]) arrive() {
	f := l.pipe[l.arrived]
	l.pipe[l.arrived] = frame{}
	if l.arrived++; l.arrived == len(l.pipe) {
		l.pipe, l.arrived = l.pipe[:0], 0
	}
	switch {
	case !l.back.up:
	case f.damaged:
		l.back.refuse(f)
	case f.below:
		l.back.takeBelow(f.envelope.Message)
	default:
		l.back.take(f)
	}
}

// takeBelow takes what the other end's session says.
func (l *link[N]) takeBelow(m wire.Message) {
	var err error
	l.acked = l.acked[:0]
	switch m := m.(type) {
	case *wire.Ack:
		l.acked, err = l.end.Acknowledge(m, l.acked)
		wire.Free(m)
	case *wire.Resume:
		l.w.Coverage.HitIf("session-resumed", m.Received != [2]uint64{})
		l.heard, l.resumed = true, true
		l.from.Met()
		before := l.end.Renewals()
		l.acked, err = l.end.Resume(m, l.acked)
		if l.end.Renewals() > before && l.number == 0 {
			defer l.from.Followed(l.to.ID())
		}
	case *wire.Bye:
		l.w.After(goodbye, l.from, func() { l.ends("EOF", true) })
	}
	if err != nil {
		l.w.Violated("a session was told what cannot be: %v", err)
	}
	for _, e := range l.acked {
		switch e.Message.(type) {
		case *wire.Mark:
			l.from.Return(e)
		case *wire.Push: // its client keeps it
		default:
			wire.Free(e.Message)
		}
	}
	clear(l.acked)
	l.pump()
}

// take delivers the message of a frame that has arrived at this end, if it ends with it.
func (l *link[N]) take(f frame) {
	e := f.envelope
	if f.bytes != nil {
		got, sum := l.w.receive(&l.joiner, f)
		if f.more {
			return
		}
		l.count(e)
		l.from.Deliver(l.to.ID(), e, got, sum)
		return
	}
	l.count(e)
	got, sum := l.w.copied(e)
	l.from.Deliver(l.to.ID(), e, got, sum)
}

// count tells the session that a message has come whole.
func (l *link[N]) count(e wire.Envelope) {
	var one session.Counts
	one[session.StreamOf(e)]++
	l.end.Received(one, 100)
	l.back.barren = 0
	if l.end.Due() {
		l.pump()
	}
}

// breaks ends a connection, with all that is under way in both directions. Each end that can still learn of it does.
func (l *link[N]) breaks(reason string) {
	if !l.up {
		return
	}
	for _, end := range [2]*link[N]{l, l.back} {
		end.forget()
	}
	l.disconnect(reason)
	if l.back.up && !l.to.Vanished() {
		other := l.back
		silent := max(l.mutedUntil(), other.mutedUntil()) - l.w.Now // messages into the silence are answered after it
		patience := 1 + l.w.Rng.Int64N(5) + min(max(silent, 0), stall)
		l.w.After(patience, other.from, other.standing(func() { other.disconnect("connection reset by peer") }))
	}
}

// disconnect leaves this end without a connection: it is made again, or given up.
func (l *link[N]) disconnect(reason string) {
	if !l.up || l.dead {
		return
	}
	l.w.Note("node %d has no connection %d to node %d: %s", l.from.ID(), l.number, l.to.ID(), reason)
	l.up, l.cut, l.beside, l.passed = false, nil, l.beside[:0], 0
	if l.closing || l.parted {
		l.ends(reason, false)
		return
	}
	l.redial = session.NewRedial(l.w.Times, l.to.ID() == 0, l.w.Now)
	l.again(reason)
}

// again tries, when its time has come, to make a connection.
func (l *link[N]) again(reason string) {
	wait, ok := l.redial.Next(l.w.Now)
	if !ok {
		l.ends(reason, false)
		return
	}
	l.w.After(wait, l.from, func() {
		switch {
		case l.dead || l.up:
			return
		case l.from.ID() < l.to.ID(): // the other one dials
		case l.to.Ended() || l.back.dead:
			l.redial.Failed(l.w.Now, true)
		case l.parted || l.mute() || l.back.mute() || l.to.Stopped():
			l.redial.Failed(l.w.Now, false)
		default:
			l.made()
			return
		}
		l.again(reason)
	})
}

// made sets up a new connection at both ends. The other end perhaps did not know yet that the last one had broken.
func (l *link[N]) made() {
	l.w.Note("nodes %d and %d have another connection %d", l.from.ID(), l.to.ID(), l.number)
	l.w.Coverage.Hit("connected-again")
	for _, o := range l.links {
		l.w.Coverage.HitIf("broken-beside-another", o != l && o.up)
	}
	l.w.Moved()
	for _, end := range [2]*link[N]{l, l.back} {
		end.begin()
	}
}

// close ends this end with a goodbye, after all that was posted.
func (l *link[N]) close() {
	if l.dead || l.closing {
		return
	}
	l.closing = true
	for l.up && !l.dead {
		f, ok := l.next()
		if !ok {
			f = frame{envelope: wire.Envelope{Message: &wire.Bye{}}, below: true}
		}
		l.write(f)
		l.dead = !ok
	}
	l.dead = true
}

// die ends this end without a word, as the end of its process does. The system tells the other one.
func (l *link[N]) die() {
	l.dead, l.up = true, false
	l.tellBack()
}

// tellBack lets the other end learn that its connection has ended, if it can.
func (l *link[N]) tellBack() {
	if other := l.back; other.up && !other.dead && !l.to.Vanished() && !other.mute() {
		l.w.After(1+l.w.Rng.Int64N(5), other.from, other.standing(func() { other.breaks("connection reset by peer") }))
	}
}

// ends ends this end for good, in peace or not, and perhaps all between its nodes.
func (l *link[N]) ends(reason string, peace bool) {
	l.die()
	if l.over {
		return
	}
	if l.over = true; l.open.Ended(peace) {
		l.Pair.lost(reason)
	} else if peace {
		l.w.Coverage.Hit("ended-before-another")
	}
}

// refuse lets this end receive a damaged frame. It is refused for its bits, for its content, or for what it claims
// about the session.
func (l *link[N]) refuse(f frame) {
	w := l.w
	switch w.Rng.IntN(3) {
	case 0:
		if err := hostile.TooMany(&l.end, l.back.process, w.Rng); err == nil {
			w.Violated("P10: a session is told of more than was sent, and goes on")
		}
	case 1:
		judge := func(h wire.Header, e wire.Envelope) error { return l.from.Judge(l.to.ID(), h, e) }
		if err, wrong := hostile.Wrong(f.envelope, w.Rng, judge); wrong {
			w.Note("%v", err)
			break
		}
		fallthrough
	default:
		w.decodeDamaged(f.envelope)
	}
	l.refused = true
	l.ends("a frame was refused", false)
}
