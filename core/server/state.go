package server

import (
	"fmt"

	"bellows"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/core/store"
	"bellows/link/wire"
)

// State in and out, as a whole: before the first step from a saved run (Load, LoadKept, Resume), and at the end to who asks for it (package checkpoint). Between
// these nobody copies a partition but by reads, leases, and the images that the driver has kept (partition.Partition.Keep).

// Load replaces the state of a partition before the job starts, and Resume the clocks; or it brings the state of one that the lane was given while the job runs,
// which is served then from the next step on.
func (l *Lane) Load(ref bellows.PartitionRef, im *store.Image) error {
	p := l.shard.Lookup(ref)
	err := p.State.Load(im)
	if p.Awaited() {
		var nobody wire.Outbox
		l.settle(p, &nobody)
	}
	return err
}

// LoadKept gives a partition the kept image of a saved run.
func (l *Lane) LoadKept(ref bellows.PartitionRef, im *store.Image) {
	l.shard.Lookup(ref).State.LoadKept(im)
}

// Resume continues after the clocks that a saved run had completed.
func (l *Lane) Resume(complete []bellows.Clock) error {
	return l.shard.Resume(complete)
}

// TasksEnded is the shell's word to a lane that no task of its node runs any more: nobody works in place on what it leased, and the state may be looked at.
type TasksEnded struct{ wire.Local }

// takeCollect notes that the controller wants the state of partitions, after the job's end. Clients that have
// not passed the end on by then are not waited for: the controller has given them up. A partition that is on
// its way here is waited for: its owner may not have heard of its record yet, and is declared gone if it does
// not.
func (l *Lane) takeCollect(from wire.Address, m *wire.Collect, out *wire.Outbox) {
	if l.ending.Closing() && !l.ending.Closed() {
		l.ending.EndAllClients()
		if !l.shard.Expects() || planted.On("state-on-its-way-unawaited") {
			l.close(out)
		}
	}
	l.ending.Ask(from, m, l.shard.Refs())
}

// Partition is the state of a partition that the lane owns, when the job is over and no task runs any
// more. It fails for one whose exclusive lease never ended: its values are neither before nor after.
func (l *Lane) Partition(ref bellows.PartitionRef) (store.Image, error) {
	p := l.shard.Lookup(ref)
	switch {
	case p == nil || p.Gone():
		return store.Image{}, fmt.Errorf("partition %v is not at %v", ref, l.cfg.Self)
	case p.Awaited():
		return store.Image{}, bellows.Errorf(bellows.Lost, "read partition", ref.String(), "it has not come to %v: %s", l.cfg.Self, p.In.Lost)
	case p.Torn():
		return store.Image{}, bellows.Errorf(bellows.Lost, "read partition", ref.String(), "a task died inside its exclusive lease")
	}
	l.applyDeferred(p)
	var im store.Image
	p.State.Save(&im)
	return im, nil
}

// applyDeferred applies what leases kept out of a job that is over. No client hears of it.
func (l *Lane) applyDeferred(p *partition.Partition) {
	var nobody wire.Outbox
	l.carry(l.cfg.Self, p.ApplyDeferred(&l.fx), &nobody)
}

// Kept is the image of a partition that the last Keep made, or nil. When the job is over that has
// what a lease kept out whose holder died before it said that it had ended.
func (l *Lane) Kept(ref bellows.PartitionRef) *store.Image {
	p := l.shard.Lookup(ref)
	if p == nil || p.Gone() || p.Awaited() {
		return nil
	}
	if l.ending.Closed() && !p.Torn() {
		l.applyDeferred(p)
	}
	return p.State.Kept()
}
