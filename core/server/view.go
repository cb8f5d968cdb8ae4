package server

import (
	"fmt"

	"bellows"
	"bellows/core/commits"
	"bellows/core/fence"
	"bellows/core/gate"
	"bellows/core/laneend"
	"bellows/core/lanestate"
	"bellows/core/migration"
	"bellows/core/partition"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// view is what a shell asks of a lane between steps: how far it is, and the state of its partitions. It is the
// sub-machines that know it, and nothing of the lane that has them.
type view struct {
	self    wire.Address
	terms   fence.Terms
	state   *lanestate.State
	commits *commits.Commits // flushes that have a number
	moves   *migration.Migrations
	ending  *laneend.Ending
	fx      partition.Effects // of the message that is being taken
	rows    int64             // see Rows
}

// Progress returns how far the job has come by the records taken.
func (v *view) Progress() *gate.Progress { return v.state.Progress() }

// Rows returns how many row deltas, and rows of copies at the end of leases, the lane has written.
func (v *view) Rows() int64 { return v.rows }

// Refused returns how many messages of earlier controllers the lane has dropped.
func (v *view) Refused() int { return v.terms.Dropped() }

// Applied returns the number of the last record taken.
func (v *view) Applied() bellows.CommitNumber { return v.state.Applied() }

// Handing reports whether something of a partition that was this lane's is on its way still, or is about to be.
func (v *view) Handing() bool { return v.moves.Handing() }

// CopyOf returns the state of the copy that a report is about, as it will be with the report.
func (v *view) CopyOf(from wire.Address, m *wire.Taken) migration.CopyState {
	return v.moves.StateOf(from, m)
}

// Ending reports whether the controller or a client has told the lane that the job is over. A node without a client
// learns it so.
func (v *view) Ending() bool { return v.ending.JobOver() }

// Removed reports whether the lane takes part no more: its counts go to its successor.
func (v *view) Removed() bool { return v.ending.Removed() }

// LoadKept gives a partition the kept image of a saved run.
func (v *view) LoadKept(ref bellows.PartitionRef, im *rowstore.Image) {
	v.state.Lookup(ref).State.LoadKept(im)
}

// Resume continues after the clocks that a saved run had completed, and the units of the next ones that counted there.
func (v *view) Resume(complete []bellows.Clock, open []bellows.Unit) error {
	return v.state.Resume(complete, open)
}

// Partition returns the state of a partition that the lane owns, when the job is over and no task runs any more: the
// lane's memory, which nothing changes from then on. It fails for one under an exclusive lease that never ended: its
// values are neither those before the lease nor those after it.
func (v *view) Partition(ref bellows.PartitionRef) (rowstore.Image, error) {
	p := v.state.Lookup(ref)
	switch {
	case p == nil || p.Gone():
		return rowstore.Image{}, fmt.Errorf("partition %v is not at %v", ref, v.self)
	case p.Awaited():
		return rowstore.Image{}, bellows.Errorf(bellows.Lost, "read partition", ref.String(),
			"it has not come to %v: %s", v.self, p.In.Lost)
	case p.Torn():
		return rowstore.Image{}, bellows.Errorf(bellows.Lost, "read partition", ref.String(),
			"a task died inside its exclusive lease")
	}
	if err := v.applyDeferred(p); err != nil {
		return rowstore.Image{}, err
	}
	return p.State.View(), nil
}

// applyDeferred applies what leases kept out of a job that is over. No client hears of it.
func (v *view) applyDeferred(p *partition.Partition) error {
	err := p.ApplyDeferred(&v.fx)
	v.commits.Finish(v.fx.Applied)
	v.rows += v.fx.Rows
	v.fx.Reset()
	return err
}

// Kept returns the image of a partition that the last Keep made, or nil. When the job is over that has what a lease
// kept out, if its holder died before the lease ended.
func (v *view) Kept(ref bellows.PartitionRef) *rowstore.Image {
	p := v.state.Lookup(ref)
	if p == nil || p.Gone() || p.Awaited() {
		return nil
	}
	if v.ending.Closed() && !p.Torn() && v.applyDeferred(p) != nil {
		return nil
	}
	return p.State.Kept()
}
