package journal

import (
	"bellows"
	"bellows/core/audit"
	"bellows/core/gate"
	"bellows/link/wire"
)

// Out is a task that was dispatched and does not count yet: its flush has no number.
type Out struct {
	wire.Task
	Commit bellows.CommitNumber // it sees the effects of records up to this
}

// State is what a controller must know to continue a job elsewhere, besides the tables.
type State struct {
	Complete []bellows.Clock // per split, the last clock it completed
	Open     []bellows.Unit  // that count, of the next clocks
	Queue    []wire.Task     // dispatched by the driver and not begun
	Driver   []float64
	// Staleness is what the driver changed, in order.
	Staleness []wire.Staleness
	Out       []Out // tasks that were dispatched and have no number: run again. None if the job was interrupted
	Finishing bool  // the driver has no more tasks
}

// Saved is a controller's state after one of its records. With the later records, which the lanes keep, another
// controller continues from it. A stored copy may be used only when every lane has its record (Journal.Covered).
type Saved struct {
	State
	Commit   bellows.CommitNumber // the record; 0: none, and the job begins with State
	Route    bellows.RouteVersion
	Lost     []bellows.Control // nodes that were lost while the job continued
	Sent     [][]audit.Sent    // by client: what its records have of each table
	Leaving  []bellows.Control // removals of actors, where no successor has their counts yet
	Whole    []bellows.Control // the changes that rebuild the route; none: it is the job's first
	Counted  gate.Counted
	Horizon  bellows.Clock
	Draining bool
}
