package closing

import (
	"bellows"
	"bellows/core/checkpoint"
	"bellows/link/wire"
)

// Ask notes that the controller wants the state of partitions, as package checkpoint has it. It comes
// again and again: each message asks for more.
func (c *Closing) Ask(from wire.Address, m *wire.Collect, refs []bellows.PartitionRef) {
	c.collector = from
	c.state.Ask(m, refs)
}

// EndTasks notes that no task of the node runs any more: none works in place on a partition that it has
// leased, and the state may be read.
func (c *Closing) EndTasks() { c.tasksEnded = true }

// Send sends what was asked for of the state, if the lane has closed and no task runs any more.
func (c *Closing) Send(from checkpoint.Source, out *wire.Outbox) {
	if c.closed && c.tasksEnded && c.state.Asked() {
		c.state.Send(from, c.self, c.collector, out)
	}
}
