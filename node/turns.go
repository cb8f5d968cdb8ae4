package node

import (
	"runtime"

	"bellows"
	"bellows/table"
)

// computeOnly takes the place beside those of the tasks away again, in a process that is this node's alone. The scheduler
// then wakes no second thread for each clock, to find that the first has done the work: with four processes on two
// processors that took four to seven percent of a run. One place less everywhere was turned down: where frames have
// something to do, they would wait for the end of a task.
func (p *process) computeOnly() {
	if p.inTurns() {
		runtime.GOMAXPROCS(p.cluster.SelfMember().Slots)
	}
}

// inTurns reports whether no frames need handling while tasks compute: the node holds no partition, so that it gets no
// requests, and under BSP messages to it wait for its own tasks.
func (p *process) inTurns() bool {
	for i := range p.job.Tables {
		if p.job.Tables[i].Consistency != table.BSP {
			return false
		}
	}
	for ref := range p.common.Route.Each() {
		if p.holds(ref) {
			return false
		}
	}
	invited := p.cluster.Invited != nil && p.cluster.Invited.Lanes > 0 // to hold some, though it does not yet
	return p.cluster.SelfMember().Slots > 0 && !invited
}

// holds reports whether one of this node's lanes has a partition.
func (p *process) holds(ref bellows.PartitionRef) bool {
	return p.common.Route.Owner(ref).Lane.Node == p.cluster.Self
}
