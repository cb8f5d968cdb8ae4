package partition

import (
	"iter"
	"slices"

	"bellows"
	"bellows/core/gate"
	"bellows/core/lease"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A lease is requested like a read. It waits for the gate, as a read does, and then for its turn
// (package lease has the rule). It comes with the partition's values: the slab itself if its holder
// is in this process, else a copy (docs/decisions/0004), unless the client has named a copy that is as new
// (docs/decisions/0131). A shared lease ends by wire.Release, an
// exclusive one when the flush that ends it has its number: the end of the lease is the commit. What
// is recorded meanwhile is deferred, and applied when the last lease has ended.

// Leases are the leases on a partition: those that are out, and the queue of requests.
type Leases struct {
	lease.Holders
	queue   []Request
	ended   bellows.CommitNumber // the record that ended the last exclusive lease: its changes show from there on
	remote  bool                 // the exclusive holder works on a copy
	stopped bool                 // none is out and none is granted any more: the partition is about to move
}

// Request is a lease that is asked for and is not granted yet.
type Request struct {
	From    wire.Address
	Acquire *wire.Acquire // nil: the partition's own turn, after which it grants none (stopTurn)
}

// Request queues a request. It reports whether so many may wait.
func (s *Leases) Request(from wire.Address, m *wire.Acquire, most int) bool {
	if len(s.queue) == most {
		return false
	}
	s.queue = append(s.queue, Request{from, m})
	return true
}

// Waiting reports whether leases are requested.
func (s *Leases) Waiting() bool { return len(s.queue) > 0 }

// Find returns a request of a client, or nil.
func (s *Leases) Find(from wire.Address, request uint64) *wire.Acquire {
	for _, r := range s.queue {
		if r.Acquire != nil && r.From == from && r.Acquire.Request == request {
			return r.Acquire
		}
	}
	return nil
}

// Forget drops the requests of processes that are gone.
func (s *Leases) Forget(gone func(wire.Address) bool) {
	s.queue = slices.DeleteFunc(s.queue, func(r Request) bool { return r.Acquire != nil && gone(r.From) })
}

// stopTurn queues the partition's own turn. It waits as a request for an exclusive lease does, so
// that no stream of leases keeps the partition from moving.
func (s *Leases) stopTurn() {
	if !slices.ContainsFunc(s.queue, func(r Request) bool { return r.Acquire == nil }) {
		s.queue = append(s.queue, Request{})
	}
}

// resume grants leases again, in a partition that does not move after all.
func (s *Leases) resume() {
	s.stopped = false
	s.queue = slices.DeleteFunc(s.queue, func(r Request) bool { return r.Acquire == nil })
}

// abandon ends the queue and returns what was in it.
func (s *Leases) abandon() []Request {
	list := slices.DeleteFunc(s.queue, func(r Request) bool { return r.Acquire == nil })
	s.queue = nil
	return list
}

// Grants yields the leases that may be granted now, in order, each as it leaves: what the receiver
// takes of it counts for the next (choked reports whether a node must read first).
//
// A request that must wait makes those after it wait, so that a stream of shared leases does not
// starve an exclusive one (TestAnExclusiveRequestIsNotPassed). It does not if the gate alone holds
// it back, or if its node does not read: the clock for which it waits may need those after it.
func (p *Partition) Grants(at Frontier, self bellows.NodeID, choked func(bellows.NodeID) bool) iter.Seq[Send] {
	return func(yield func(Send) bool) {
		s := &p.Leases
		rest := s.queue[:0]
		blocked := s.stopped
		for _, r := range s.queue {
			v, mode := p.Visible(at), wire.Exclusive
			if a := r.Acquire; a != nil {
				if mode = a.Mode; !gate.Admits(a.Need, v.Commit, v.Clock) || choked(r.From.Node) {
					rest = append(rest, r)
					continue
				}
			}
			switch {
			case blocked || len(p.backlog.deferred) > 0 || !s.Free(mode):
				blocked = true
				rest = append(rest, r)
			case r.Acquire == nil:
				s.stopped, blocked = true, true
			default:
				yield(Send{r.From, p.grant(r, v, self)})
			}
		}
		s.queue = rest
	}
}

// grant gives a lease.
func (p *Partition) grant(r Request, v wire.Need, self bellows.NodeID) *wire.Granted {
	s := &p.Leases
	s.Grant(r.Acquire.Mode, r.From)
	s.remote = r.From.Node != self
	if r.Acquire.Mode == wire.Exclusive {
		p.State.store.Detach()
		p.Log.note(Change{Kind: LeaseBegin, InPlace: !s.remote, Clock: v.Clock, Commit: v.Commit})
	}
	g := wire.New[wire.Granted]()
	g.Request, g.Pair, g.Mode, g.Commit, g.Complete = r.Acquire.Request, p.Pair(), r.Acquire.Mode, v.Commit, v.Clock
	g.Columns = p.columns
	held := r.Acquire.Held
	g.Revision = p.State.Revision()
	switch {
	case !s.remote:
		g.Values = p.State.store.Values()
	case held > 0 && (held == g.Revision || planted.On("held-copy-believed")):
		g.Revision, g.Unchanged = held, true
	default:
		g.Copy(p.State.store.Values())
	}
	wire.Free(r.Acquire)
	return g
}

// Release ends a shared lease. It reports whether there was one.
func (p *Partition) Release(from wire.Address, fx *Effects) (bool, error) {
	if !p.Leases.Release(from) {
		return false, nil
	}
	return true, p.catchUpUnleased(fx)
}

// EndExclusive ends an exclusive lease with the commit of its flush: the values of a copy replace
// the rows, those of the slab are there.
func (p *Partition) EndExclusive(
	f Flush, values []float32, clock bellows.Clock, number bellows.CommitNumber, fx *Effects,
) error {
	s := &p.Leases
	p.applied = number
	rows := 0
	if s.remote {
		rows = len(values) / p.Ledger.width
	}
	p.State.adopt(values, clock, number, !s.remote)
	s.End()
	if !planted.On("lease-end-unversioned") {
		s.ended = number
	}
	fx.apply(f, rows)
	return p.catchUpUnleased(fx)
}

// Abort ends the exclusive lease of a client that is lost, if it worked on a copy.
func (p *Partition) Abort(of wire.Address, fx *Effects) error {
	if s := &p.Leases; !s.Exclusive() || s.Owner() != of || !s.remote {
		return nil
	}
	p.Leases.End()
	return p.catchUp(fx)
}

// ReleaseAll ends the shared leases of processes that are gone.
func (p *Partition) ReleaseAll(gone func(wire.Address) bool, fx *Effects) error {
	for _, a := range slices.Clone(p.Leases.Shared()) {
		if gone(a) {
			if _, err := p.Release(a, fx); err != nil {
				return err
			}
		}
	}
	return nil
}
