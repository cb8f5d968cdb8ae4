package bellows

// ControlKind is what a control record changes. Numbers 4 to 7 are for the route, members, cuts and eras.
type ControlKind uint8

const (
	NoControl    ControlKind = iota // the record is of a flush
	KeepTables                      // lanes keep an image of their partitions as they are after the records before
	SetStaleness                    // reads of Table may lag Clocks, from the next dispatch on; no task is out
	Drain                           // the job winds down: tasks of clocks after Clock are not dispatched any more
)

// Control is what the controller's numbered stream of records says besides which flushes count.
type Control struct {
	Kind   ControlKind
	Table  TableID
	Clocks int32 // as table.Consistency
	Clock  Clock
}
