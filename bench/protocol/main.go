// Command protocol measures what the distributed part costs and how it behaves: clocks, transfers, moves and losses of the processes of a job.
//
// It runs every measurement, or those that --only names. The package comment of each says what it measures and needs.
package main

import (
	"bellows/bench/internal/pair"
	"bellows/bench/protocol/internal/churn"
	"bellows/bench/protocol/internal/clock"
	"bellows/bench/protocol/internal/controller"
	"bellows/bench/protocol/internal/detection"
	"bellows/bench/protocol/internal/flip"
	"bellows/bench/protocol/internal/members"
	"bellows/bench/protocol/internal/processes"
	"bellows/bench/protocol/internal/ticks"
	"bellows/bench/protocol/internal/transfer"
	"bellows/bench/protocol/internal/wire"
)

func main() {
	pair.Programs(clock.Program, transfer.Program, processes.Program, controller.Program, wire.Program, ticks.Program, flip.Program, churn.Program, members.Program, detection.Program)
}
