package cache

import (
	"bellows"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/link/wire"
)

// relays are what lanes are sure to send unasked: rows that are subscribed to, after a record of this node's.
type relays struct{ lanes []laneState }

// laneState is what is known of a lane that owns a partition, or has owned one.
type laneState struct {
	address  wire.Address
	expected int                  // pushes there that are sure to be recorded and show at once
	recorded bellows.CommitNumber // the newest flush of this node that it has recorded
	pull     *wire.Pull           // of the read that is being made; nil between two steps
}

// AddLane gives a lane the next number, from 0.
func (s *relays) AddLane(a wire.Address) { s.lanes = append(s.lanes, laneState{address: a}) }

// Expect notes that a push to a lane is sure to be recorded and shows at once: the lane sends, after the record, what
// the node has subscribed to.
func (s *relays) Expect(lane int) { s.lanes[lane].expected++ }

// Recorded notes that a lane has recorded a push that was expected. Rows that it sends unasked come after this.
func (s *relays) Recorded(lane int, n bellows.CommitNumber) {
	l := &s.lanes[lane]
	l.expected--
	l.recorded = max(l.recorded, n)
}

// comes reports whether the lane is sure to send the subscribed rows of a partition in a version that the cache does
// not hold yet and that a reader needs. With a barrier they come with each clock, but what a unit has left under a
// lease the next of its clock needs before that (TestUnitSeesPreviousUnitsLease; planted: own-clock-awaited).
// Without one, they come with each commit of this node: a flush that is done is sure to be recorded (lane.expected),
// and the rows of one that is recorded are under way until the cache has its commit (lane.recorded).
func (s *relays) comes(p *partition, need wire.Need) bool {
	if p.barrier {
		return need.Clock > p.block.complete || planted.On("own-clock-awaited")
	}
	l := &s.lanes[p.lane]
	return l.expected > 0 || p.block.commit < l.recorded
}

// sureToCome returns what of the rows that come unasked a lane is sure to send, as a pending.Wait has it: those of a
// clock, of a commit, or (0) of a commit that is not known yet.
func (s *relays) sureToCome(p *partition, f *fetch) (pending.Of, uint64) {
	l := &s.lanes[p.lane]
	switch {
	case p.barrier:
		return pending.Clocks, uint64(f.need.Clock + 1)
	case l.expected > 0:
		return pending.Relay, 0
	}
	return pending.Relay, uint64(l.recorded)
}
