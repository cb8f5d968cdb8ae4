package laneend

import (
	"bellows"
	"bellows/core/checkpoint"
	"bellows/link/wire"
)

// Ask notes that the controller wants the state of partitions, as package checkpoint has it. It comes
// again and again: each message asks for more.
func (e *Ending) Ask(from wire.Address, m *wire.Collect, refs []bellows.PartitionRef) {
	e.collector = from
	e.state.Ask(m, refs)
}

// EndTasks notes that no task of the node runs any more: none works in place on a partition that it has
// leased, and the state may be read.
func (e *Ending) EndTasks() { e.tasksEnded = true }

// Send sends what was asked for of the state, if the lane has closed and no task runs any more.
func (e *Ending) Send(from checkpoint.Source, out *wire.Outbox) {
	if e.closed && e.tasksEnded && e.state.Asked() {
		e.state.Send(from, e.self, e.collector, out)
	}
}
