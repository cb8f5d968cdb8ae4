package node

import (
	"runtime"

	"bellows"
	"bellows/table"
)

// places lets a goroutine that reads or writes run beside so many that compute without a pause. The scheduler of Go
// looks at connections when a processor of its own runs out of goroutines; where all of them compute, it does so every
// ten milliseconds (a round trip then takes twenty). With one place more than tasks compute, a frame wakes its reader at
// once, and the system, which preempts finely, shares the cores. It only ever raises the number, and is of the whole process: where
// several nodes are one process, whoever started them decides.
func places(computing int) {
	if runtime.GOMAXPROCS(0) <= computing {
		runtime.GOMAXPROCS(computing + 1)
	}
}

// computeOnly takes the place beside those of the tasks away again, in a process that is this node's alone. The
// scheduler then wakes no second thread for each clock, to find that the first has done the work.
func (p *process) computeOnly() {
	if p.inTurns() {
		runtime.GOMAXPROCS(p.cluster.me().Slots)
	}
}

// inTurns reports whether frames have nothing to do while tasks compute: the node holds no partition, so that nobody asks it, and
// under BSP what comes to it waits for its own tasks.
func (p *process) inTurns() bool {
	for i := range p.job.Tables {
		if p.job.Tables[i].Consistency != table.BSP {
			return false
		}
	}
	for ref := range p.common.Route.All() {
		if p.holds(ref) {
			return false
		}
	}
	return p.cluster.me().Slots > 0
}

// holds reports whether one of this node's lanes has a partition.
func (p *process) holds(ref bellows.PartitionRef) bool {
	return p.common.Route.Owner(ref).Lane.Node == p.cluster.Self
}
