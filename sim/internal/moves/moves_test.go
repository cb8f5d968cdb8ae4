package moves

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/handoff"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/lanewatch"
	"bellows/sim/internal/model"
	"bellows/sim/internal/trace"
)

// scene is a job with two lanes. The first gives a partition to the second.
type scene struct {
	*Watch
	ref      bellows.PartitionRef
	from, to wire.Address
	steps    []string
}

func newScene() *scene {
	s := &scene{from: wire.LaneAt(1, 0), to: wire.LaneAt(2, 0)}
	job := model.Jobs[0]()
	r := route.Spread(job.Schemas, job.Splits, []wire.Address{s.from, s.to}, []bellows.NodeID{3})
	for ref := range r.Each() {
		if r.Owner(ref).Lane == s.from {
			s.ref = ref
			break
		}
	}
	tr := &trace.Trace{Clock: new(int64)}
	s.Watch = &Watch{Trace: tr, Coverage: new(coverage.Coverage), Lanes: &lanewatch.Watch{Trace: tr}, Moved: func() {}, Keep: func() {},
		Record: func(bellows.Control) {}, Step: func(_ bellows.PartitionRef, phase string) { s.steps = append(s.steps, phase) }}
	lane, err := server.NewLane(core.Job{Tables: job.Schemas, Route: r, Items: job.Items}, s.to, server.Options{})
	if err != nil {
		panic(err) // the job is one of the simulation's own
	}
	s.Lanes.Add(&lanewatch.Lane{Lane: lane, Address: s.to})
	s.Begin(r)
	return s
}

func (s *scene) piece(kind uint8, n bellows.CommitNumber) wire.Envelope {
	return wire.Envelope{From: s.from, To: s.to, Message: &wire.Piece{Pair: wire.Pair{Ref: s.ref}, Kind: kind, Commit: n}}
}

func TestMoveHasSteps(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.Posted(s.piece(handoff.Offer, 0))
	s.Posted(s.piece(handoff.Rows, 0))
	s.Posted(wire.Envelope{From: s.from, Message: &wire.Prepared{Pair: wire.Pair{Ref: s.ref}, Whole: true}})
	_, r := s.Last()
	records := &wire.Records{List: []wire.Record{{Number: 4, Control: r.MovePartition(s.ref, s.to)}}}
	s.Posted(wire.Envelope{From: wire.ControllerAt(), To: s.to, Message: records})
	s.Posted(wire.Envelope{From: wire.ControllerAt(), To: s.from, Message: records}) // the same record to another lane
	if want := []string{"offered", "copied", "ready", "recorded"}; !slices.Equal(s.steps, want) || s.Violation != "" {
		t.Errorf("steps %q, want %q; %q", s.steps, want, s.Violation)
	}
	if from, awaits := s.Awaits(4, s.ref); !awaits || from != s.from || !s.UnderWay() {
		t.Errorf("awaits %v from %v, under way %v", awaits, from, s.UnderWay())
	}
	if s.Before(s.piece(handoff.Last, 4)); s.UnderWay() || !s.HasMoved() {
		t.Errorf("under way %v after the last piece, moved %v", s.UnderWay(), s.HasMoved())
	}
	if _, awaits := s.Awaits(4, s.ref); awaits {
		t.Error("the state is awaited after the last piece")
	}
}

func TestClosedLaneTakesNoPiece(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.Posted(s.piece(handoff.Offer, 0))
	s.Lanes.Lookup(s.to).Closed = true
	if s.Before(s.piece(handoff.Last, 4)); !s.UnderWay() {
		t.Error("a closed lane has taken the last piece")
	}
}

func TestRecordThatDoesNotFitTheRoute(t *testing.T) {
	t.Parallel()
	s := newScene()
	_, r := s.Last()
	c := r.MovePartition(s.ref, s.to)
	c.Route += 3
	if s.Posted(wire.Envelope{Message: &wire.Records{List: []wire.Record{{Number: 1, Control: c}}}}); s.Violation == "" {
		t.Error("a route follows that does not fit")
	}
}
