package sim

import (
	"bellows/session"
	"bellows/sim/internal/parcel"
	"bellows/wire"
)

// link is one node's end of its connection with another: a session end, and the unreliable way there.
type link struct {
	w        *world
	from, to *node
	back     *link // the other end
	end      session.End
	weather  weather
	cutUntil int64 // packets sent before are lost
	latest   int64 // when the last packet so far arrives
	packets  []session.Packet
	arrived  []wire.Envelope
}

// connect joins every two nodes.
func (w *world) connect() {
	for _, a := range w.nodes {
		a.links = make([]*link, len(w.nodes))
		for _, b := range w.nodes {
			if a != b {
				a.links[b.id] = &link{w: w, from: a, to: b, weather: w.weather[a.id][b.id]}
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
	w.after(resendEvery, nil, w.resend)
}

// resend tells every session end the time.
func (w *world) resend() {
	for _, n := range w.nodes {
		if n.crashed || n.pausedUntil > w.now {
			continue
		}
		for _, l := range n.links {
			if l != nil && !l.end.Idle() {
				l.packets = l.end.Tick(l.packets[:0])
				for _, p := range l.packets {
					l.transmit(p)
				}
			}
		}
	}
	w.after(resendEvery, nil, w.resend)
}

func (l *link) send(e wire.Envelope) { l.transmit(l.end.Send(e)) }

// transmit puts a packet on its way, once, twice, or not at all.
func (l *link) transmit(p session.Packet) {
	w := l.w
	if w.now < l.cutUntil {
		w.strike(cut, l.from, l.to)
		return
	}
	if w.chance(l.weather.drop) {
		w.strike(drop, l.from, l.to)
		return
	}
	l.carry(p)
	if w.chance(l.weather.duplicate) {
		w.strike(duplicate, l.from, l.to)
		l.carry(p)
	}
}

// carry takes a packet to the other end in its time, which may be before that of packets sent earlier.
func (l *link) carry(p session.Packet) {
	w := l.w
	delay := l.weather.delay
	if l.weather.jitter > 0 {
		delay += w.rng.Int64N(l.weather.jitter + 1)
	}
	if w.chance(l.weather.late) {
		w.strike(late, l.from, l.to)
		delay += 1 + w.rng.Int64N(lateMax)
	}
	if w.now+delay < l.latest {
		w.strike(reorder, l.from, l.to)
	}
	l.latest = max(l.latest, w.now+delay)
	w.after(delay, l.to, func() { l.back.receive(p) })
}

// receive hands on what a packet makes deliverable, as copies.
func (l *link) receive(p session.Packet) {
	l.arrived = l.end.Receive(p, l.arrived[:0])
	for _, e := range l.arrived {
		l.w.verifySent(e)
		e.Message = parcel.Clone(e.Message)
		l.w.actors[e.To].put(letter{envelope: e, digest: parcel.Digest(e.Message)})
	}
}
