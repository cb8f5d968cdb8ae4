// Package laneend ends a lane, at the job's end or when a record removes it: it waits for the last pushes, and passes
// on its final counts.
//
// The controller sends End to every actor. Each client passes it on to every lane, after all that it sent. A lane
// closes when it has heard both, so that each push that was sent is taken and counted. A lane that closed at the
// controller's message alone missed pushes that were under way, and the audit did not add up (docs/decisions/0006). The
// lane does not wait for clients that the End names as gone. If the job has finished and Ends take long, the controller
// sends another one, by which the lane waits for no client (wire.End.Parts).
//
// A record removes a lane that owns no partition (bellows.RemoveLane). The lane takes no later record. Clients that do
// not know of it yet still send to it, and are answered as stale. Each sends it an End when it hears of the removal, so
// that the lane knows when nothing more comes. Its final counts go to its successor, a lane that the record names. The
// successor adds them to its own and confirms that to the controller (wire.Adopted): then the node may go. A lane that
// is to leave waits for the counts that it is the successor for, and passes them on with its own. So the audit of the
// job counts lanes that have left, and no controller has to remember them (docs/decisions/0040).
//
// A removed client runs no split: all that it sent has a number, and no lane waits for its End. It sends its own final
// counts to the successor.
//
// The caller's duties: AddClient for each client that takes part; TakeEnd for each End; RemoveClient, Leave and Expect
// for the records that change the members; and Ready after each of these, and after its other waits. When Ready reports
// true it counts what is left (Count, Drop) and calls Close. When the lane is closed each message goes to TakeAgain,
// and the state leaves by Send.
//
// Rejected: counting as sent only what was acknowledged, because the acknowledgement may be under way as well. Counts
// in the controller, or in a record, which every lane then keeps for one message. And waiting for the End of a removed
// client at all lanes, because a client whose connection breaks as its node goes would delay the end of the job.
package laneend

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/checkpoint"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// An Ending is what a lane knows of its end.
//
// States. A lane is open; then closing, from the controller's End or its own removal on, and still takes
// pushes; then closed, when nothing more can come. A closed lane repeats its last message to a controller
// that follows another, and gives its state away.
//
// Invariants:
//   - A lane closes once, and its final counts never change (TestFinalCountsStay).
//   - A client is waited for until its End has come, or it is gone, or was removed
//     (TestLaneClosesWhenNothingMoreComes).
//   - The counts of a lane or client that was removed are added at one lane, once (TestCountsAreAdoptedOnce).
type Ending struct {
	self, controller wire.Address

	closing bool
	closed  bool
	over    bool      // the controller or a client has ended the job
	told    *wire.End // by the controller, last
	clients []client
	early   []wire.Address // clients that sent End before the record that adds them

	removal *bellows.Control  // of this lane, while the job continues; nil: it takes part
	adopted []bellows.Control // removals of lanes and clients; their counts are among its own
	owed    []bellows.Control // removals with counts still to come
	ahead   []FinalCounts     // that name a newer route than the lane's

	counts wire.Counts
	final  wire.Counts // as the lane has closed

	tasksEnded bool // at this node
	collector  wire.Address
	state      checkpoint.Sender
}

// client is a client of the job.
type client struct {
	address wire.Address
	ended   bool // nothing more comes from it that counts
	removed bool // by a record
}

// FinalCounts is the last message of a lane or client that was removed, to its successor.
type FinalCounts struct {
	From   wire.Address
	Closed *wire.Closed
}

// New returns the end of a lane of a job, which is far away. Tables is how many the job has, and slab how
// many values of a partition go into one message of its state; 0: the default.
func New(self, controller wire.Address, tables, slab int) *Ending {
	e := &Ending{self: self, controller: controller}
	e.counts.Ledgers = make([]audit.Ledger, tables)
	e.state.Most = slab
	return e
}

// Closing reports whether the lane has begun to close, or has closed.
func (e *Ending) Closing() bool { return e.closing }

// Closed reports whether nothing more can come that counts.
func (e *Ending) Closed() bool { return e.closed }

// EndedByController reports whether the controller has ended the job.
func (e *Ending) EndedByController() bool { return e.told != nil }

// JobOver reports whether the controller or a client has said that the job is over.
func (e *Ending) JobOver() bool { return e.over }

// Removed reports whether a record has removed the lane.
func (e *Ending) Removed() bool { return e.removal != nil }

// Adopted returns the removals of lanes and clients whose counts are among the lane's.
func (e *Ending) Adopted() []bellows.Control { return slices.Clone(e.adopted) }

// End returns the controller's End, for a controller that follows it; nil: it has not come.
func (e *Ending) End() *wire.End {
	if e.told == nil || planted.On("end-unsaid") {
		return nil
	}
	return &wire.End{Commit: e.told.Commit, Reason: e.told.Reason, Kind: e.told.Kind}
}

// AddClient waits for the End of a client, unless it came before the record that adds the client.
func (e *Ending) AddClient(a wire.Address) {
	e.clients = append(e.clients, client{address: a, ended: slices.Contains(e.early, a)})
}

// RemoveClient stops waiting for a client that a record has removed. It reports whether the client was known.
func (e *Ending) RemoveClient(a wire.Address) bool {
	i := e.find(a)
	if i < 0 || planted.On("parted-awaited") {
		return false
	}
	e.clients[i].ended, e.clients[i].removed = true, true
	return true
}

// HasRemoved reports whether a record has removed a client.
func (e *Ending) HasRemoved(a wire.Address) bool {
	i := e.find(a)
	return i >= 0 && e.clients[i].removed
}

// TakeEnd takes the End of the controller or of a client.
func (e *Ending) TakeEnd(from wire.Address, m *wire.End) {
	e.over = e.over || !m.Parts || from == e.controller
	e.EndClient(from)
	for _, n := range m.Gone {
		e.EndClient(wire.ClientAt(n))
	}
	if from == e.controller {
		e.closing, e.told = true, m
		if m.Parts {
			e.EndAllClients()
		}
	}
}

// EndClient notes that nothing more comes from a client. If no record has added the client yet, it is not
// waited for when one does.
func (e *Ending) EndClient(a wire.Address) {
	switch i := e.find(a); {
	case i >= 0:
		e.clients[i].ended = true
	case a.Role == wire.Client && !slices.Contains(e.early, a):
		e.early = append(e.early, a)
	}
}

// EndAllClients stops waiting for clients: the controller has given them up.
func (e *Ending) EndAllClients() {
	for i := range e.clients {
		e.clients[i].ended = true
	}
}

// Leave begins the end of the lane by a record that removes it.
func (e *Ending) Leave(removal bellows.Control) { e.removal, e.closing = &removal, true }

// Ready reports whether the lane is to close now: nothing more can come. Awaiting is whether state of a
// partition is on its way here, and handing whether some is on its way from here. A lane that leaves also
// waits for handing, and for the counts that it is the successor for
// (TestLeavingSuccessorWaitsForCounts).
func (e *Ending) Ready(awaiting, handing bool) bool {
	if !e.closing || e.closed || awaiting {
		return false
	}
	for i := range e.clients {
		if !e.clients[i].ended {
			return false
		}
	}
	return e.told != nil || !handing && len(e.owed) == 0
}

// find returns the place of a client, or -1.
func (e *Ending) find(a wire.Address) int {
	return slices.IndexFunc(e.clients, func(o client) bool { return o.address == a })
}

// Count adds what a partition has counted while it was the lane's, or what was written otherwise.
func (e *Ending) Count(t bellows.TableID, applied, dropped int64, l *audit.Ledger) {
	e.counts.Applied += applied
	e.counts.Dropped += dropped
	e.counts.Ledgers[t].Add(l)
}

// CountCarried counts rows of deltas that came with the image of a saved job: the lane stands for the clients that have
// sent them there.
func (e *Ending) CountCarried(rows int64) { e.counts.Sent += rows }

// Drop counts a part of a flush that never gets a number.
func (e *Ending) Drop(one *wire.Missed) {
	e.counts.Dropped += one.Rows
	e.counts.Ledgers[one.Ref.Table].Dropped += one.Bits
}

// Close closes the lane, makes its counts final, and sends them: to the controller, or to the successor of a lane that
// leaves. missed has the parts of flushes that the lane has not held; a lane that leaves does not know whether these
// flushes get numbers, and its successor does (TestSuccessorTakesOverMissedPushes).
func (e *Ending) Close(missed []wire.Missed, r *route.Route, out *wire.Outbox) {
	e.closed, e.final = true, copied(e.counts)
	if e.removal != nil && e.told == nil {
		m := e.last(missed)
		m.Route = e.removal.Route
		out.Send(e.self, r.Heir(*e.removal), m)
		return
	}
	out.Send(e.self, e.controller, e.last(missed))
}

// TakeAgain takes an End that comes to a closed lane. A controller that follows another ends the job once
// more, and gets the same last message.
func (e *Ending) TakeAgain(from wire.Address, m *wire.End, missed []wire.Missed, out *wire.Outbox) {
	e.over = e.over || !m.Parts || from == e.controller
	if from != e.controller || e.told != nil && m.Term <= e.told.Term || planted.On("last-word-not-repeated") {
		return
	}
	e.told = m
	out.Send(e.self, e.controller, e.last(missed))
}

// last returns the last message of the lane.
func (e *Ending) last(missed []wire.Missed) *wire.Closed {
	m := &wire.Closed{Counts: copied(e.final), Adopted: slices.Clone(e.adopted)} // a message is its receiver's
	if e.removal != nil {
		m.Missed = slices.Clone(missed)
	}
	return m
}

func copied(c wire.Counts) wire.Counts {
	c.Ledgers = slices.Clone(c.Ledgers)
	return c
}
