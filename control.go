package bellows

// ControlKind is what a control record changes. Number 9 is for eras.
type ControlKind uint8

const (
	NoControl    ControlKind = iota // the record is of a flush
	KeepTables                      // lanes keep an image of their partitions as they are after the records before
	SetStaleness                    // reads of Table may lag Clocks, from the next dispatch on; no task is out
	Drain                           // the job winds down: tasks of clocks after Clock are not dispatched any more

	// Each of these makes the next version of the route (package route).
	AddLane       // Lane of Node takes part, and holds nothing yet
	AddClient     // Node takes part, and runs no split yet
	MovePartition // Lane of Node holds Partition of Table from now on, at Generation
	MoveSplit     // Node runs Split from its next clock on
)

// CutTables is a cut: lanes give away their partitions as they are after the previous records, while these continue to
// change (package checkpoint).
const CutTables ControlKind = 8

// These kinds also make the next version of the route. HeirLane of Heir takes over the counts of the actor that leaves.
const (
	RemoveLane   ControlKind = iota + 10 // Lane of Node takes part no more, and held nothing
	RemoveClient                         // Node runs no more tasks, and had no split
	// Node is lost, and the job continues: what it has sent and is not recorded never counts
	LoseClient
)

// ChangesRoute reports whether such a record makes the next version of the route.
func (k ControlKind) ChangesRoute() bool {
	return k >= AddLane && k <= MoveSplit || k >= RemoveLane && k <= LoseClient
}

// Control is what the controller's numbered stream of records says besides which flushes count.
type Control struct {
	Kind   ControlKind
	Table  TableID
	Clocks int32 // as table.Consistency
	Clock  Clock

	Route      RouteVersion // which a change of the route makes
	Node       NodeID
	Lane       uint16 // which of the node's
	Partition  PartitionID
	Generation Generation
	Split      SplitID
	Heir       NodeID // of a node or lane that is removed: where the lane is that takes over its counts
	HeirLane   uint16
}
