package tally

// Class is what a frame is for.
type Class uint8

// The classes. Control is for messages between the controller and its clients and lanes.
const (
	Control  Class = iota
	Pulls          // questions for rows
	Rows           // rows of tables, to clients
	Leases         // leases asked for, given and given back
	Pushes         // deltas, to lanes
	Receipts       // what became of a push
	Model          // partitions as they are at the end, to node 0
	classes
)

// Classes is the number of classes.
const Classes = int(classes)

func (c Class) String() string {
	return [...]string{"control", "pulls", "rows", "leases", "pushes", "receipts", "model"}[c]
}

// Flow is a number of frames and their bytes, headers included.
type Flow struct{ Frames, Bytes int64 }

// Add adds another flow.
func (f *Flow) Add(o Flow) {
	f.Frames += o.Frames
	f.Bytes += o.Bytes
}

// Since returns what flowed after an earlier moment.
func (f Flow) Since(before Flow) Flow { return Flow{f.Frames - before.Frames, f.Bytes - before.Bytes} }

// Traffic is flows by class.
type Traffic [Classes]Flow

// Count adds one frame.
func (t *Traffic) Count(c Class, bytes int) {
	t[c].Frames++
	t[c].Bytes += int64(bytes)
}

// Add adds another node's flows, or another time's.
func (t *Traffic) Add(o *Traffic) {
	for c := range t {
		t[c].Add(o[c])
	}
}

// Total returns the flow of all classes.
func (t *Traffic) Total() (total Flow) {
	for _, f := range t {
		total.Add(f)
	}
	return total
}
