package server

import (
	"bellows/core/laneend"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The audit counts every row delta that clients send as applied or dropped at one lane, and so the bits of
// its values (package audit, docs/decisions/0027). Partitions and stores count the deltas that are applied.
// At the end of the job the lane counts as dropped the parts that it has missed (package prepare).
// TestEndAccountsForEverything and TestTheAuditSeesLossesInside hold this, and the audit of every schedule.

// missed returns, when nothing more can come, the parts that have never counted. It leaves out those of a client that is
// not the job's, of an earlier process, and of a client that was lost: what these have sent is in no account. A lane
// that was removed leaves them out of its report too, since the controller does not know the processes of clients
// (TestLeavingLaneReportsMissedParts).
func (l *Lane) missed() (list []wire.Missed) {
	for _, m := range l.flushes.Missed() {
		id := m.Flush
		newest := l.clients.Newest(wire.ClientAt(id.Client))
		if newest == 0 || id.Incarnation < newest || l.ending.Lost(id.Client) && !planted.On("lost-missed-counted") {
			continue
		}
		list = append(list, m)
	}
	return list
}

// countPartition adds what a partition has counted while it was this lane's.
func countPartition(ending *laneend.Ending, p *partition.Partition) {
	ledger, applied, dropped := p.Count()
	ending.Count(p.Ref.Table, applied, dropped, &ledger)
	ending.CountCarried(p.Ledger.Carried())
}
