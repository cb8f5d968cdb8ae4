package reads

import (
	"iter"
	"slices"

	"bellows"
	"bellows/core/fence"
	"bellows/core/gate"
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Reads are the clients of a lane that read.
//
// Invariants:
//
//   - A read is answered when all that it needs is visible, and not under an exclusive lease of another
//     (TestAnswersWaitForTheGate).
//   - What waits is bounded (TestParkIsBounded).
//   - A node that does not read is sent no more than its credit, and one message (TestAnswersWaitForCredit).
type Reads struct {
	self       wire.Address
	max        int // reads that may wait
	relayWords int

	credits gate.Credits
	pulls   []parked
	owing   bool      // some subscription is owed rows
	unasked []unasked // per subscriber, while Relay runs
}

// Config is what Reads are made of.
type Config struct {
	Self       wire.Address
	Max        int // reads that may wait; a client that sends more breaks the protocol
	RelayWords int // about how many words go into one message of rows that are sent unasked
	Unread     int // see gate.Credits
}

// parked is a read that waits.
type parked struct {
	from wire.Address
	pull *wire.Pull
}

// process returns the process that reads.
func (r *parked) process() partition.Subscriber {
	return partition.Subscriber{Address: r.from, Incarnation: r.pull.Incarnation}
}

// New returns the reads of a lane that has none yet.
func New(c Config) *Reads {
	return &Reads{self: c.Self, max: c.Max, relayWords: c.RelayWords,
		credits: gate.Credits{Self: c.Self.Node, Unread: c.Unread}}
}

// Mark notes that a node has read up to a mark.
func (r *Reads) Mark(from bellows.NodeID, m *wire.Mark) { r.credits.Take(from, m) }

// Renew gives the next process of a client a credit of its own, and forgets the reads of earlier processes.
func (r *Reads) Renew(who partition.Subscriber, at *lanestate.State) {
	r.credits.Renew(who.Address.Node, who.Incarnation)
	r.Forget(at, func(s partition.Subscriber) bool { return s.Address == who.Address })
}

// Forget forgets the reads and the subscriptions of processes that are gone.
func (r *Reads) Forget(at *lanestate.State, gone func(partition.Subscriber) bool) {
	r.pulls = slices.DeleteFunc(r.pulls, func(p parked) bool { return gone(p.process()) })
	at.Forget(gone)
}

// Park queues a read. It reports whether so many may wait.
func (r *Reads) Park(from wire.Address, m *wire.Pull) bool {
	if len(r.pulls) == r.max {
		return false
	}
	r.pulls = append(r.pulls, parked{from, m})
	return true
}

// Leave forgets the reads of a partition that goes to another lane, and tells their clients to ask there.
func (r *Reads) Leave(ref bellows.PartitionRef, version bellows.RouteVersion, out *wire.Outbox) {
	r.pulls = slices.DeleteFunc(r.pulls, func(p parked) bool {
		if !slices.ContainsFunc(p.pull.Parts, func(q wire.PullPart) bool { return q.Ref == ref }) {
			return false
		}
		r.Stale(p.from, p.pull.Request, version, out)
		wire.Free(p.pull)
		return true
	})
}

// Stale refuses a request by an older route: the client makes it again by the current one.
func (r *Reads) Stale(to wire.Address, request uint64, version bellows.RouteVersion, out *wire.Outbox) {
	out.Send(r.self, to, &wire.Stale{Route: version, Request: request})
}

// Grant sends the leases on a partition that may be granted. They count against their nodes' credit as answers to
// reads do.
func (r *Reads) Grant(p *partition.Partition, at partition.Frontier, out *wire.Outbox) {
	for s := range p.Grants(at, r.self.Node, r.credits.Choked) {
		n := len(s.Message.(*wire.Granted).Values)
		out.Send(r.self, s.To, s.Message)
		r.charge(s.To, n, out)
	}
}

// GrantAll sends the leases on all partitions that may be granted.
func (r *Reads) GrantAll(at *lanestate.State, out *wire.Outbox) {
	for _, p := range at.Owned() {
		if p.Leases.Waiting() {
			r.Grant(p, at.Frontier(), out)
		}
	}
}

// Answer is the answer to a read. Err is set if its client subscribes to more than it may.
type Answer struct {
	To   wire.Address
	Rows *wire.Rows
	Err  error
}

// Answers yields the answers to reads that may be answered now, each as it leaves (Send): what its receiver takes
// counts for the next. Only clients that take part in the job are subscribed.
func (r *Reads) Answers(at *lanestate.State, clients *fence.Clients) iter.Seq[Answer] {
	return func(yield func(Answer) bool) {
		rest := r.pulls[:0]
		for _, p := range r.pulls {
			if readable(at, p.pull) && !r.credits.Choked(p.from.Node) {
				yield(r.answer(at, &p, clients.Knows(p.from)))
				wire.Free(p.pull)
			} else {
				rest = append(rest, p)
			}
		}
		clear(r.pulls[len(rest):])
		r.pulls = rest
	}
}

// Send sends an answer.
func (r *Reads) Send(a Answer, out *wire.Outbox) {
	n := 0
	for i := range a.Rows.Parts {
		n += words(&a.Rows.Parts[i])
	}
	out.Send(r.self, a.To, a.Rows)
	r.charge(a.To, n, out)
}

// readable reports whether all partitions that a read asks for show what it needs: it is answered as a whole.
func readable(at *lanestate.State, m *wire.Pull) bool {
	for i := range m.Parts {
		p := at.Lookup(m.Parts[i].Ref)
		v := p.Visible(at.Frontier())
		if (p.Leases.Exclusive() && !planted.On("read-under-lease")) || !gate.Admits(m.Need, v.Commit, v.Clock) {
			return false
		}
	}
	return true
}

// answer makes the answer to a read, with the commit and the clock that each part of it shows, and subscribes its
// client where it asks for that. A subscription of a partition with deferred entries is owed rows at once: they are
// recorded, and what its client sees here does not have them.
func (r *Reads) answer(at *lanestate.State, one *parked, known bool) (answer Answer) {
	a := wire.New[wire.Rows]()
	a.Request, a.Incarnation = one.pull.Request, one.pull.Incarnation
	a.Borrow(one.pull)
	answer = Answer{To: one.from, Rows: a}
	for i := range one.pull.Parts {
		q := &one.pull.Parts[i]
		p := at.Lookup(q.Ref)
		v := p.Visible(at.Frontier())
		if planted.On("commit-overstated") {
			v.Commit++
			v.Clock++
		}
		to := a.Extend()
		to.Pair, to.Commit, to.Complete, to.Rows = p.Pair(), v.Commit, v.Clock, q.Rows
		if q.Keys != nil {
			to.Rows, to.Values = nil, p.State.ReadKeys(q.Keys, to.Values)
		} else if q.Borrows() && one.from.Node == r.self.Node && p.Barrier() {
			to.Lend(p.State.Lend())
			continue
		} else {
			to.Values = p.State.Read(q.Rows, to.Values)
		}
		if !q.Subscribe {
			continue
		}
		if known {
			if err := subscribe(p, one.process(), q); err != nil && answer.Err == nil {
				answer.Err = err
			}
		}
		if q.Keys == nil {
			r.owing = r.owing || p.Deferred()
		}
	}
	return answer
}
