package server

import (
	"slices"

	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Reads, leases and subscriptions, as package reads has them. The lane refuses what names a partition of another
// owner, and says when anything may be answered.

// takePull parks a read; serve answers it when it may be.
func (l *Lane) takePull(from wire.Address, m *wire.Pull, out *wire.Outbox) {
	if l.outlived(partition.Subscriber{Address: from, Incarnation: m.Incarnation}) {
		wire.Free(m)
		return
	}
	for i := range m.Parts {
		if err := l.state.Owns(m.Parts[i].Pair); err != nil {
			l.refuse(from, m.Request, err, out)
			wire.Free(m)
			return
		}
	}
	if !l.reads.Park(from, m) {
		l.fault.breach(from, out, "%d reads wait already", l.cfg.Limits.Parked)
	}
}

// takeAcquire queues a request for a lease.
func (l *Lane) takeAcquire(from wire.Address, m *wire.Acquire, out *wire.Outbox) {
	p, err := l.state.Find(m.Pair)
	if err != nil {
		l.refuse(from, m.Request, err, out)
		wire.Free(m)
		return
	}
	if !p.Leases.Request(from, m, l.cfg.Limits.Parked) {
		l.fault.breach(from, out, "%d requests for leases on %v wait already", l.cfg.Limits.Parked, p.Ref)
	}
}

// takeRelease ends a shared lease. One that an earlier owner has given ended with its ownership, and one of a client that
// a record has removed ended with that record.
func (l *Lane) takeRelease(from wire.Address, m *wire.Release, out *wire.Outbox) {
	p, err := l.state.Find(m.Pair)
	if err != nil {
		return
	}
	released, err := p.Release(from, &l.fx)
	if !released && !l.ending.HasRemoved(from) {
		l.fault.breach(from, out, "it releases a lease on %v that it does not have", p.Ref)
	}
	l.carry(from, err, out)
}

// serve sends subscribers what they are owed, answers every read and grants every lease whose time has come. A lane
// that is cut answers nobody: it may have been replaced, and would show a past that others have left
// (TestLaneWithoutControllerServesNoReads). After the end no client reads: the lane has not heard of one that
// was declared gone after its last message.
func (l *Lane) serve(out *wire.Outbox) {
	if !l.ending.Closed() || planted.On("relayed-after-end") {
		l.reads.Relay(l.state, out)
	}
	if l.silence.Cut || l.ending.Closed() && !planted.On("served-after-end") {
		return
	}
	l.reads.GrantAll(l.state, out)
	for a := range l.reads.Answers(l.state, &l.clients) {
		if a.Err != nil {
			l.fault.breach(a.To, out, "%v", a.Err)
		}
		l.reads.Send(a, out)
	}
}

// takeInquiry tells a client that has waited for long what the lane has of that for which it waits, or that the lane
// knows nothing of it. Then the request or its answer is lost, and the client ends the job by name
// (client/enquire.go). So each answer must be sure: it comes after all that the lane has answered
// (TestLaneReportsWhatDelaysQuestion, TestLaneReportsWhatDelaysFlush).
func (l *Lane) takeInquiry(from wire.Address, m *wire.Inquiry, out *wire.Outbox) {
	who := partition.Subscriber{Address: from, Incarnation: m.Incarnation}
	if l.outlived(who) || planted.On("inquiry-ignored") {
		return
	}
	if l.ending.EndedByController() { // what waited was given up, and the client is about to hear of the end
		return
	}
	a := &wire.Standing{Incarnation: m.Incarnation, List: slices.Clone(m.List)}
	l.reads.Explain(l.state, l.flushes, who, a.List, l.silence.Cut)
	out.Send(l.cfg.Self, from, a)
}
