package server

import (
	"bellows/core/fence"
	"bellows/core/laneend"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The audit counts every row delta that clients send as applied or dropped at one lane, and so the bits of
// its values (package audit, docs/decisions/0027). Partitions and stores count the deltas that are applied.
// At the end of the job the lane counts as dropped the parts that it has missed (package prepare).
// TestEndAccountsForEverything and TestTheAuditSeesLossesInside hold this, and the audit of every schedule.

// countMissed counts, when nothing more can come, the parts that have never counted. Those of a client
// that is not the job's, of an earlier process, and of a client that was lost are in no account.
func countMissed(ending *laneend.Ending, list []wire.Missed, clients *fence.Clients) {
	for i := range list {
		id := list[i].Flush
		newest := clients.Newest(wire.ClientAt(id.Client))
		if newest == 0 || id.Incarnation < newest || ending.Lost(id.Client) && !planted.On("lost-missed-counted") {
			continue
		}
		ending.Drop(&list[i])
	}
}

// countPartition adds what a partition has counted while it was this lane's.
func countPartition(ending *laneend.Ending, p *partition.Partition) {
	ledger, applied, dropped := p.Count()
	ending.Count(p.Ref.Table, applied, dropped, &ledger)
	ending.CountCarried(p.Ledger.Carried())
}
