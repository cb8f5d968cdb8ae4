package server

import (
	"bellows/core/gate"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A read is parked until the gate admits it: all that it needs is visible here, and no exclusive
// lease is out. It is looked at again at the end of every step, since what may let it go on comes
// by a step: a record, the end of a lease, a mark that came back.

type parkedPull struct {
	from wire.Address
	pull *wire.Pull
}

// takePull parks a read; serve answers it when it may be.
func (l *Lane) takePull(from wire.Address, m *wire.Pull, out *wire.Outbox) {
	if l.outlived(subscriber{from, m.Incarnation}) {
		wire.Free(m)
		return
	}
	for i := range m.Parts {
		if _, err := l.shard.Find(m.Parts[i].Pair); err != nil {
			l.refuse(from, m.Request, err, out)
			wire.Free(m)
			return
		}
	}
	if len(l.pulls) == l.cfg.Limits.Parked {
		l.breach(from, out, "%d reads wait already", l.cfg.Limits.Parked)
		return
	}
	l.pulls = append(l.pulls, parkedPull{from, m})
}

// serve answers every parked read and grants every lease whose time has come. A lane that is cut
// serves nobody: it may have been replaced, and would show a past that others have left
// (TestALaneThatHearsNobodyServesNoReads).
func (l *Lane) serve(out *wire.Outbox) {
	if l.silence.Cut || l.ending.Closed() && !planted.On("served-after-end") { // nobody reads any more (relay)
		return
	}
	for _, p := range l.shard.Owned() {
		if p.Leases.Waiting() {
			l.grant(p, out)
		}
	}
	rest := l.pulls[:0]
	for _, r := range l.pulls {
		if l.readable(r.pull) && !l.credits.Choked(r.from.Node) {
			l.answer(r, out)
		} else {
			rest = append(rest, r)
		}
	}
	clear(l.pulls[len(rest):])
	l.pulls = rest
}

// readable reports whether all partitions that a read asks for show what it needs: it is answered
// as a whole.
func (l *Lane) readable(m *wire.Pull) bool {
	for i := range m.Parts {
		p := l.shard.At(m.Parts[i].Ref)
		v := p.Visible(l.shard.Frontier())
		if (p.Leases.Exclusive() && !planted.On("read-under-lease")) || !gate.Admits(m.Need, v.Commit, v.Clock) {
			return false
		}
	}
	return true
}

// answer sends the rows of a read, with the commit and the clock that each part of them shows, and
// subscribes its client where it asks for that. A subscription of a partition with deferred entries
// is owed rows at once: they are recorded, and what its client sees here does not have them.
func (l *Lane) answer(r parkedPull, out *wire.Outbox) {
	a := wire.New[wire.Rows]()
	a.Request, a.Incarnation = r.pull.Request, r.pull.Incarnation
	who := subscriber{r.from, r.pull.Incarnation}
	a.Borrow(r.pull)
	for i := range r.pull.Parts {
		q := &r.pull.Parts[i]
		p := l.shard.At(q.Ref)
		v := p.Visible(l.shard.Frontier())
		if planted.On("commit-overstated") {
			v.Commit++
			v.Clock++
		}
		to := a.Extend()
		to.Pair, to.Commit, to.Complete, to.Rows = p.Pair(), v.Commit, v.Clock, q.Rows
		if q.Keys != nil {
			to.Rows, to.Values = nil, p.State.ReadKeys(q.Keys, to.Values)
			if q.Subscribe {
				if err := l.subscribe(p, who, nil, q.Keys); err != nil {
					l.breach(r.from, out, "%v", err)
				}
			}
			continue
		}
		if q.Borrows() && r.from.Node == l.cfg.Self.Node && p.Barrier() {
			to.Lend(p.State.Lend())
			continue
		}
		to.Values = p.State.Read(q.Rows, to.Values)
		if q.Subscribe {
			if err := l.subscribe(p, who, q.Rows, nil); err != nil {
				l.breach(r.from, out, "%v", err)
			}
			l.owing = l.owing || p.Deferred()
		}
	}
	n := words(a)
	out.Send(l.cfg.Self, r.from, a)
	l.charge(r.from, n, out)
	wire.Free(r.pull)
}

// words is how many a message of rows has, about.
func words(m *wire.Rows) (n int) {
	for i := range m.Parts {
		n += wordsOf(&m.Parts[i])
	}
	return n
}

func wordsOf(p *wire.RowsPart) int {
	if p.Lent() {
		return 0
	}
	return len(p.Rows) + 2*len(p.Keys) + len(p.Values)
}

// charge notes that so many words were sent to a client.
func (l *Lane) charge(to wire.Address, words int, out *wire.Outbox) {
	if m := l.credits.Charge(to.Node, words); m != nil {
		out.Send(l.cfg.Self, to, m)
	}
}
