package witness

import (
	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/trace"
)

// Watch tells a Witness which commits clients learn of, and checks that what a client is sent of a partition never goes back in
// time (P3).
type Watch struct {
	*Witness
	*trace.Trace
	Era     bellows.Era
	History *account.History
	Ledger  *account.Watch
}

// Before notes commits that a client is about to learn of.
func (w *Watch) Before(e wire.Envelope) {
	m, ok := e.Message.(*wire.Committed)
	if !ok || e.To.Role != wire.Client || !e.IsOfEra(w.Era) {
		return
	}
	for i := range m.List {
		w.Committed(m.List[i].Commit)
	}
}

// Delivered checks the versions of rows.
func (w *Watch) Delivered(e wire.Envelope) {
	m, ok := e.Message.(*wire.Rows)
	if !ok {
		return
	}
	to, o := e.To.Node, w.oracle
	for i := range m.Parts {
		p := &m.Parts[i]
		if !w.History.Newest(to, p.Pair) {
			continue // of an earlier owner, which the client knows
		}
		was := w.Ledger.Shown(to, p.Ref)
		if p.Commit < was.Commit || p.Complete < was.Clock {
			w.Violated("P3: node %d is shown %v at commit %d, clock %d after commit %d, clock %d", to, p.Ref, p.Commit, p.Complete, was.Commit, was.Clock)
		}
		if int(p.Commit) > len(o.Log) || int(p.Complete) >= len(o.ClockAt) {
			w.Violated("P1: node %d is shown %v at commit %d, clock %d; neither more than %d nor %d is recorded", to, p.Ref, p.Commit, p.Complete, len(o.Log), len(o.ClockAt)-1)
		}
		*was = wire.Need{Commit: p.Commit, Clock: p.Complete}
	}
}
