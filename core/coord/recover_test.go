package coord_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/liveness"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// follow is a desk of a job with two lanes, and what lanes have of it. Split 0 is on node 1 and split 1 on node 2.
type follow struct {
	*desk
	t    *testing.T
	job  core.Job
	tail []*wire.Records
}

var twoLanes = []wire.Address{{Role: wire.Lane}, {Role: wire.Lane, Index: 1}}

// newFollow runs a job with a first controller; what it says to lanes is kept.
func newFollow(t *testing.T, driver coord.Driver) *follow {
	return newFollowOf(t, coord.Options{Driver: driver, Stays: stays})
}

// newFollowOf returns newFollow with more of the controller's own.
func newFollowOf(t *testing.T, opt coord.Options) *follow {
	f := &follow{t: t, job: jobOf(10_000, twoLanes, table.Schema{Name: "w", Rows: 2, Width: 1, Partitions: 2})}
	f.desk = newDeskOf(f.job, opt)
	f.ready(clients...)
	f.Start(&f.fx)
	f.hear()
	return f
}

// hear keeps what the first lane is sent, and forgets the rest.
func (f *follow) hear() {
	for _, e := range f.fx.Envelopes {
		if m, ok := e.Message.(*wire.Records); ok && e.To == twoLanes[0] {
			f.tail = append(f.tail, m)
		}
	}
	f.fx = coord.Effects{}
}

// commit lets the first controller number flushes of both splits in a clock.
func (f *follow) commit(clocks ...int) {
	for _, clock := range clocks {
		f.doneBoth(clock)
		f.hear()
	}
}

// next makes the controller that follows, which has asked the lanes.
func (f *follow) next(driver coord.Driver, from coord.Saved) {
	f.t.Helper()
	f.nextTelling(driver, from, 0)
}

// nextTelling works as next, with a controller that reports records from a number on again.
func (f *follow) nextTelling(driver coord.Driver, from coord.Saved, tell bellows.CommitNumber) {
	f.t.Helper()
	f.desk = recovered(f.t, f.job, coord.Options{Driver: driver, Term: 2, Stays: stays, TellFrom: tell}, from)
	expect(f.t, f.said()) // not all are ready
	f.ready(clients...)
	expect(f.t, f.said(), "lane 0 of node 0: *wire.Query", "lane 1 of node 0: *wire.Query")
}

// holds sends a lane's answer.
func (f *follow) holds(lane int, last, tail bellows.CommitNumber, held ...wire.HeldFlush) {
	f.deliver(twoLanes[lane], &wire.Holding{Term: 2, Last: last, Tail: tail, Flushes: held})
}

// gives lets a lane send its tail from a number on.
func (f *follow) gives(lane int, from bellows.CommitNumber) {
	f.t.Helper()
	f.expectQuery(lane, from)
	f.sendTail(f.desk, lane)
}

// sendTail lets a lane send all that it has kept of the records to a controller.
func (f *follow) sendTail(to *desk, lane int) {
	for _, m := range f.tail {
		to.deliver(twoLanes[lane], &wire.Records{Term: m.Term, Keep: m.Keep, List: slices.Clone(m.List)})
	}
}

// holdBoth lets both lanes give the same answer.
func (f *follow) holdBoth(last, tail bellows.CommitNumber) {
	f.holds(0, last, tail)
	f.holds(1, last, tail)
}

// expectQuery wants the controller to have asked a lane, and no other, for its records.
func (f *follow) expectQuery(lane int, from bellows.CommitNumber) {
	f.t.Helper()
	if len(f.fx.Envelopes) != 1 || f.fx.Envelopes[0].To != twoLanes[lane] || *f.fx.Envelopes[0].Message.(*wire.Query) != (wire.Query{Term: 2, From: from}) {
		f.t.Fatalf("asked %+v; want the records of lane %d from %d on", f.fx.Envelopes, lane, from)
	}
	f.fx.Reset()
}

// heldOf returns a flush of a client that both lanes hold a part of; what it has finished came with the part of the first.
func heldOf(client, clock, lane int) wire.HeldFlush {
	all := []wire.Pair{{Generation: 1}, {Ref: bellows.PartitionRef{Partition: 1}, Generation: 1}}
	h := wire.HeldFlush{Flush: bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(clock + 1)}, Clock: bellows.Clock(clock), Held: all[lane : lane+1], Pairs: all}
	if lane == 0 {
		h.Done = []wire.Result{{Unit: bellows.Unit{Split: bellows.SplitID(client - 1), Clock: bellows.Clock(clock), Items: bellows.Range{End: 1}}, Values: []float64{float64(client)}}}
	}
	return h
}

// TestNumberingWaitsForEveryPromise lets a controller follow another. Messages wait until every lane has promised and
// the longest tail has come. Then the driver hears again what it heard, in silence. The lane that lacks records gets
// them; open tasks are dispatched again; and the messages that waited count.
func TestNumberingWaitsForEveryPromise(t *testing.T) {
	before, after := &rounds{want: 3}, &rounds{want: 3}
	f := newFollow(t, before)
	f.commit(0)
	f.done(1, 1)
	f.hear()
	f.next(after, coord.Saved{})
	f.done(2, 1)
	f.holds(0, 2, 1)
	f.done(2, 1)
	expect(t, f.said())
	f.holds(1, 3, 1)
	f.done(2, 1)
	f.gives(1, 1)
	expect(t, f.said(),
		"lane 0 of node 0: record 3 [split 0 clock 1 items [0,1)]", "node 1: *wire.Route", "node 2: *wire.Route",
		"lane 0 of node 0: record 4 [split 1 clock 1 items [0,1)]", "lane 1 of node 0: record 4 [split 1 clock 1 items [0,1)]",
		"node 2: run split 1 clock 1 items [0,1) [2.5] after commit 2",
		"node 1: run split 0 clock 2 items [0,1) [1.5] after commit 4", "node 2: run split 1 clock 2 items [0,1) [2.5] after commit 4")
	if want := append(before.seen, "commit 4: split 1 clock 1 items [0,1) [2]"); !slices.Equal(after.seen, want) {
		t.Errorf("the driver received %q; want %q", after.seen, want)
	}
	if _, _, commit := f.Progress(); commit != 4 || f.Recovering() || !f.Begun() {
		t.Errorf("it is at commit %d, recovering: %v", commit, f.Recovering())
	}
}

// TestWhollyHeldFlushCounts lets lanes hold a whole flush, one that lacks a part, one that is recorded, and one whose
// finished units no lane has. The first counts without its client's Done, which comes later and changes nothing.
func TestWhollyHeldFlushCounts(t *testing.T) {
	f := newFollow(t, &rounds{want: 3})
	f.commit(0)
	f.next(&rounds{want: 3}, coord.Saved{})
	unknown := heldOf(1, 2, 1)
	f.holds(0, 2, 1, heldOf(2, 1, 0), heldOf(1, 1, 0), heldOf(1, 0, 0))
	f.holds(1, 2, 1, heldOf(1, 0, 1), heldOf(1, 1, 1), unknown)
	f.gives(0, 1)
	expect(t, f.said(),
		"node 1: *wire.Route", "node 2: *wire.Route",
		"lane 0 of node 0: record 3 [split 0 clock 1 items [0,1)]", "lane 1 of node 0: record 3 [split 0 clock 1 items [0,1)]",
		"node 1: run split 0 clock 1 items [0,1) [1.5] after commit 2", "node 2: run split 1 clock 1 items [0,1) [2.5] after commit 2")
	f.done(1, 1)
	expect(t, f.said())
	f.done(2, 1)
	expectLine(t, f.said(), 4, 0, "record 4 [split 1 clock 1 items [0,1)]")
}

// TestEpochsAppearOnce replays a job to its last record, which reports an epoch, keeps the tables and finishes: only
// the lanes hear of the end. The record of what is kept is the existing one; if it is lost, it is made again.
func TestEpochsAppearOnce(t *testing.T) {
	for _, lost := range []bool{false, true} {
		f := newFollow(t, &rounds{want: 1})
		f.doneBoth(0)
		if len(f.fx.Epochs) != 1 || len(f.fx.Visits) != 2 {
			t.Fatalf("epochs %v, visits %v", f.fx.Epochs, f.fx.Visits)
		}
		f.hear()
		last := bellows.CommitNumber(3)
		if lost {
			last--
			f.tail[len(f.tail)-1].List = f.tail[len(f.tail)-1].List[:1]
		}
		f.next(&rounds{want: 1}, coord.Saved{})
		f.holdBoth(last, 1)
		f.gives(0, 1)
		got := f.said()
		if len(f.fx.Epochs) > 0 || len(f.fx.Visits) > 0 {
			t.Errorf("epochs %v and visits %v appear again", f.fx.Epochs, f.fx.Visits)
		}
		var want []string
		if lost {
			want = []string{"lane 0 of node 0: record 3 keep", "lane 1 of node 0: record 3 keep"}
		}
		want = append(want, "node 1: *wire.Route", "node 2: *wire.Route")
		for _, a := range append(slices.Clone(twoLanes), clients...) {
			want = append(want, fmt.Sprintf(`%v: end after commit 3: "" gone []`, a))
		}
		expect(t, got, want...)
	}
}

// TestUnsentRecordsAreSentAfterFailover lets a process follow another that has reported some records, or more than
// any lane has. It reports the later records, and the epoch that they end. It stops if records were reported that no
// lane has.
func TestUnsentRecordsAreSentAfterFailover(t *testing.T) {
	for told, want := range map[bellows.CommitNumber]string{0: "visits [1 2 3 4] epochs 0", 2: "visits [3 4] epochs 0", 4: "visits [] epochs 0", 5: ""} {
		f := newFollow(t, &rounds{want: 3})
		f.commit(0, 1)
		f.nextTelling(&rounds{want: 3}, coord.Saved{}, told+1)
		f.holdBoth(4, 1)
		f.gives(0, 1)
		var visits []bellows.CommitNumber
		for _, v := range f.fx.Visits {
			visits = append(visits, v.Commit)
		}
		if got := fmt.Sprintf("visits %v epochs %d", visits, len(f.fx.Epochs)); want != "" && got != want {
			t.Errorf("behind record %d it tells %s, want %s", told, got, want)
		}
		if said := strings.Join(f.said(), "\n"); want == "" && !strings.Contains(said, "the controller before has told of record 5, and no lane has more than 4") {
			t.Errorf("behind record %d it says %s", told, said)
		}
	}
	for told, want := range map[bellows.CommitNumber]string{1: "visits 1 epochs 1", 2: "visits 0 epochs 1", 3: "visits 0 epochs 0"} {
		f := newFollow(t, &rounds{want: 1})
		f.commit(0)
		f.nextTelling(&rounds{want: 1}, coord.Saved{}, told+1)
		f.holdBoth(3, 1)
		f.gives(0, 1)
		if got := fmt.Sprintf("visits %d epochs %d", len(f.fx.Visits), len(f.fx.Epochs)); got != want {
			t.Errorf("of a job with an epoch that ends by record 2 it reports after record %d %s, want %s", told, got, want)
		}
	}
}

// TestARecoveryIsOfSeveralTails lets the lane that has come furthest begin late: what it has not kept another has.
func TestARecoveryIsOfSeveralTails(t *testing.T) {
	f := newFollow(t, &rounds{want: 3})
	f.commit(0, 1)
	after := &rounds{want: 3}
	f.next(after, coord.Saved{})
	f.holds(0, 3, 1)
	f.holds(1, 4, 3)
	all := f.tail
	f.tail = nil
	for _, m := range all {
		m.List = slices.DeleteFunc(slices.Clone(m.List), func(r wire.Record) bool { return r.Number > 3 })
		f.tail = append(f.tail, m)
	}
	f.gives(0, 1)
	f.tail = all
	for i := range f.tail {
		f.tail[i].List = slices.Clone(f.tail[i].List)
	}
	f.expectQuery(1, 4)
}

// TestAnInterruptIsRemembered drains a job and loses its controller. The next one continues the drain, and begins no
// new clock.
func TestAnInterruptIsRemembered(t *testing.T) {
	for _, again := range []bool{false, true} {
		f := newFollow(t, &rounds{want: 3})
		f.commit(0)
		f.Interrupt(&f.fx)
		f.Tick(1, nil, &f.fx)
		f.hear()
		f.next(&rounds{want: 3}, coord.Saved{})
		if again { // the user has repeated the interrupt
			f.Interrupt(&f.fx)
		}
		f.holdBoth(3, 1)
		f.gives(0, 1)
		expect(t, f.said(), "node 1: *wire.Route", "node 2: *wire.Route",
			"node 1: run split 0 clock 1 items [0,1) [1.5] after commit 2", "node 2: run split 1 clock 1 items [0,1) [2.5] after commit 2")
		f.done(1, 1)
		f.said()
		f.done(2, 1)
		expectLine(t, f.said(), 6, 5, `end after commit 5: "interrupted"`)
	}
}

// TestAControllerFollowsFromASavedOne saves a controller in the middle of a round, and lets lanes release the earlier
// records. The next controller resumes from the saved state, and asks for the later records alone.
func TestAControllerFollowsFromASavedOne(t *testing.T) {
	before := &rounds{want: 3}
	f := newFollow(t, before)
	if _, ok := f.Save(); ok {
		t.Error("a controller that has numbered nothing is saved")
	}
	f.commit(0)
	f.done(1, 1)
	saved, ok := f.Save()
	if !ok || saved.Commit != 3 || len(saved.Out) != 1 {
		t.Fatalf("saved %+v", saved)
	}
	f.Covers(saved.Commit, &f.fx)
	if got := f.said(); !slices.Equal(got[len(got)-2:], []string{"lane 0 of node 0: *wire.Query", "lane 1 of node 0: *wire.Query"}) {
		t.Errorf("said %q", got)
	}
	for i, last := range []bellows.CommitNumber{3, 2, 3} { // of the second it is an old answer
		if got := f.Covered(); got != 0 {
			t.Errorf("record %d is covered after %d answers", got, i)
		}
		f.deliver(twoLanes[min(i, 1)], &wire.Holding{Term: 1, Last: last, Tail: 1})
	}
	if f.Covered() != 3 {
		t.Errorf("record %d is covered", f.Covered())
	}
	f.LetGo(f.Covered() + 5) // but lanes have not all said that they have those
	f.hear()
	f.tail = nil
	f.done(2, 1)
	f.hear()
	if keep := f.tail[0].Keep; keep != 4 {
		t.Errorf("lanes must keep records from %d on", keep)
	}
	after := &rounds{want: 3}
	f.next(after, saved)
	f.holds(0, 3, 4)
	f.holds(1, 4, 4)
	f.gives(1, 4)
	expect(t, f.said(), "lane 0 of node 0: record 4 [split 1 clock 1 items [0,1)]", "node 1: *wire.Route", "node 2: *wire.Route",
		"node 1: run split 0 clock 2 items [0,1) [1.5] after commit 4", "node 2: run split 1 clock 2 items [0,1) [2.5] after commit 4")
	if !slices.Equal(after.seen, before.seen[3:]) {
		t.Errorf("the driver received %q; want %q", after.seen, before.seen[3:])
	}
	f.done(1, 1) // from before the state was saved
	expect(t, f.said())
}

// TestLaneThatLeftNeedsNoRecords lets a lane answer that left before the controller was saved, since its process
// is there for others: what the other lanes have let go since is not asked for.
func TestLaneThatLeftNeedsNoRecords(t *testing.T) {
	f := newFollow(t, &rounds{want: 3})
	f.commit(0)
	require.NoError(t, errors.Join(f.AddLane(freshLane, &f.fx), f.Remove(freshLane, &f.fx)))
	f.done(1, 1)
	saved, _ := f.Save() // behind record 5
	f.hear()
	f.desk = recovered(t, f.job, coord.Options{Driver: &rounds{want: 3}, Term: 2, Stays: stays}, saved)
	f.ready(append(slices.Clone(clients), wire.ClientAt(freshLane.Node))...)
	f.said()
	f.deliver(freshLane, &wire.Holding{Term: 2, Last: 4, Tail: 4})
	f.holds(1, 5, 5)
	f.holds(0, 6, 6)
	f.expectQuery(0, 6)
}

// TestUnrecoverableRecordsAreNamed uses lanes that have not what is needed, a driver that does something else, and
// lanes that do not answer.
func TestUnrecoverableRecordsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		driver coord.Driver
		from   bellows.CommitNumber
		holds  func(f *follow)
		want   string
	}{
		"freed":                        {&rounds{want: 3}, 0, func(f *follow) { f.holds(0, 2, 2); f.holds(1, 2, 2) }, "records from 1 on are needed, and lanes have kept those from 2 on"},
		"uncovered":                    {&rounds{want: 3}, 2, func(f *follow) { f.holds(0, 1, 1); f.holds(1, 1, 1) }, "its controller was saved after record 2, and no lane has more than 1"},
		"uncovered, and one is behind": {&rounds{want: 3}, 2, func(f *follow) { f.holds(0, 0, 0); f.holds(1, 1, 1) }, "its controller was saved after record 2, and no lane has more than 1"},
		"other driver": {&rounds{want: 1}, 0, func(f *follow) {
			f.commit(0)
			f.holdBoth(4, 1)
			f.gives(0, 1)
		}, "the driver does not do again what it did"},
		"other clocks": {&rounds{want: 3}, 0, func(f *follow) {
			f.tail[0].List[0].Results[0].Unit.Clock = 7
			f.holdBoth(4, 1)
			f.gives(0, 1)
		}, "the driver does not do again what it did"},
		"silent": {&rounds{want: 3}, 0, func(f *follow) {
			f.holds(0, 2, 1)
			for now := int64(1); now < 4_000_000; now += 500 {
				f.Tick(now, []uint64{0, uint64(now), uint64(now)}, &f.fx)
			}
			if !slices.ContainsFunc(f.fx.Notices, func(s string) bool {
				return strings.Contains(s, "for what lane 1 of node 0 holds, and gives up after 3600.0 s")
			}) {
				f.t.Errorf("nobody is named: %q", f.fx.Notices)
			}
		}, "lane 1 of node 0 has not said what it holds for 3600"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFollow(t, &rounds{want: 3})
			f.commit(0, 1)
			from := coord.Saved{}
			if c.from > 0 {
				from, _ = f.Save()
				from.Commit = c.from
			}
			f.next(c.driver, from)
			c.holds(f)
			if got := strings.Join(f.said(), "\n"); !strings.Contains(got, c.want) || strings.Contains(got, "Query") {
				t.Errorf("said %q, want %q, and no question for records", got, c.want)
			}
		})
	}
}

// grown returns a job of two clocks to which a lane and a client were added, of node 3, and split 1 moved to that client
// between its clocks: records 3, 4 and 7. The state was saved behind record 4.
func grown(t *testing.T) (f *follow, saved coord.Saved, before *rounds) {
	before = &rounds{want: 4}
	f = newFollow(t, before)
	f.commit(0)
	require.NoError(t, errors.Join(f.AddLane(freshLane, &f.fx), f.AddClient(3, &f.fx), f.MoveSplit(1, 3, &f.fx)))
	f.hear()
	saved, _ = f.Save()
	f.commit(1)
	if saved.Commit != 4 || saved.Route != 2 || f.tail[len(f.tail)-1].List[1].Control.Kind != bellows.MoveSplit {
		t.Fatalf("saved after record %d by route %d", saved.Commit, saved.Route)
	}
	return f, saved, before
}

// added lists the changes that added a lane and a client to the route of a grown job.
var added = []bellows.Control{{Kind: bellows.AddLane, Node: 3}, {Kind: bellows.AddClient, Node: 3}}

// knows sends a lane's answer when the job has grown.
func (f *follow) knows(a wire.Address, last, tail bellows.CommitNumber, added ...bellows.Control) {
	f.deliver(a, &wire.Holding{Term: 2, Last: last, Tail: tail, Added: added})
}

// TestAFollowerGoesByTheNewestRoute lets a controller follow when a lane and a client have been added and a split has
// moved, from the beginning and from a saved state. The lane and the client have begun, or have not. Lanes name the
// added actors, which are then asked as well, and all actors receive the whole route.
func TestAFollowerGoesByTheNewestRoute(t *testing.T) {
	for _, begun := range []bool{false, true} {
		for _, fromSaved := range []bool{false, true} {
			f, saved, before := grown(t)
			after := &rounds{want: 4}
			if !fromSaved {
				saved = coord.Saved{}
			}
			f.desk = recovered(t, f.job, coord.Options{Driver: after, Term: 2}, saved)
			f.ready(clients...)
			asked := []string{"lane 0 of node 0: *wire.Query", "lane 1 of node 0: *wire.Query", "lane 0 of node 3: *wire.Query"}
			var added []bellows.Control
			if expect(t, f.said(), asked[:2+count(fromSaved)]...); !fromSaved {
				added = []bellows.Control{{Kind: bellows.AddLane, Node: 3}, {Kind: bellows.AddClient, Node: 3}}
			}
			expectError(t, f.AddClient(4, &f.fx), "ask again")
			f.knows(twoLanes[0], 7, 1, added...)
			if f.knows(twoLanes[1], 7, 1, added...); !fromSaved {
				expect(t, f.said(), asked[2])
			}
			f.knows(freshLane, bellows.CommitNumber(7*count(begun)), bellows.CommitNumber(1+3*count(begun)))
			f.fx.Envelopes[0].Message.(*wire.Query).From = 0 // another test covers that
			if expect(t, f.said(), asked[0]); f.fx.Route != nil {
				t.Error("the checker of node 0 learns a route before one exists")
			}
			f.sendTail(f.desk, 0)
			if f.fx.Route == nil || f.fx.Route.Version() != 3 || f.fx.Route.Node(1) != 3 {
				t.Errorf("it goes by route %+v", f.fx.Route)
			}
			const whole = " as a whole of 10, after record 7, clocks [1 1], staleness [0], flushes [{1 1 2 []} {2 1 2 []}]"
			want := []string{"lane 0 of node 3: route 3" + whole, "node 1: route 3" + whole, "node 2: route 3" + whole, "node 3: route 3" + whole,
				"node 1: run split 0 clock 2 items [0,1) [1.5] after commit 6", "node 3: run split 1 clock 2 items [0,1) [2.5] after commit 7"}
			expect(t, f.routes(), want[count(begun):]...)
			if want := before.seen[len(before.seen)-len(after.seen):]; !slices.Equal(after.seen, want) {
				t.Errorf("the driver received %q; want %q", after.seen, want)
			}
			if err := f.MoveSplit(0, 3, &f.fx); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRecordsAfterMoveSeeItsRecord moves the first of two splits between its clocks. The other, which is dispatched
// after it, is dispatched again under the record that it saw, which is the move's.
func TestRecordsAfterMoveSeeItsRecord(t *testing.T) {
	f := newFollow(t, &rounds{want: 4})
	require.NoError(t, f.MoveSplit(0, 2, &f.fx))
	f.done(2, 0)
	f.done(1, 0) // so that it rests when the driver continues it
	f.hear()
	f.next(&rounds{want: 4}, coord.Saved{})
	f.holdBoth(3, 1)
	f.gives(0, 1)
	var runs []string
	for _, line := range f.routes() {
		if strings.Contains(line, "run split") {
			runs = append(runs, line)
		}
	}
	expect(t, runs, "node 2: run split 0 clock 1 items [0,1) [1.5] after commit 3", "node 2: run split 1 clock 1 items [0,1) [2.5] after commit 3")
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestEverybodyIsToldOfAFailedRecovery uses lanes that have let go of what is needed: clients are to pass the end on
// to the lane that was added, which they know only by a route that they were perhaps not told.
func TestEverybodyIsToldOfAFailedRecovery(t *testing.T) {
	f, _, _ := grown(t)
	f.next(&rounds{want: 4}, coord.Saved{})
	f.knows(twoLanes[0], 7, 2, added...)
	f.knows(twoLanes[1], 7, 2, added...)
	f.said()
	f.knows(freshLane, 7, 4)
	const end = `: end after commit 7: "the job cannot be recovered: records from 1 on are needed, and lanes have kept those from 2 on" gone `
	const pass = " passed on to [{3 0}]"
	expect(t, f.said(), "lane 0 of node 0"+end+"[]", "lane 1 of node 0"+end+"[]", "lane 0 of node 3"+end+"[]", "node 1"+end+"[]"+pass, "node 2"+end+"[]"+pass, "node 3"+end+"[]"+pass)
}

// TestAFailureWaitsForTheRecovery lets a task fail before the controller that follows knows what was recorded. The
// job fails when it does, for the first failure, and all lanes have the same records then.
func TestAFailureWaitsForTheRecovery(t *testing.T) {
	f, _, _ := grown(t)
	tail := f.tail
	f.next(&rounds{want: 4}, coord.Saved{})
	for _, reason := range []string{"no such row", "no such file"} {
		f.deliver(clients[0], &wire.Failed{Reason: reason})
	}
	expect(t, f.said())
	f.knows(twoLanes[0], 7, 1, added...)
	f.knows(twoLanes[1], 7, 1, added...)
	f.knows(freshLane, 5, 4)
	f.said()
	for _, m := range tail {
		f.deliver(twoLanes[0], &wire.Records{Term: m.Term, Keep: m.Keep, List: slices.Clone(m.List)})
	}
	const end, pass = `: end after commit 7: "node 1 failed: no such row" gone []`, " passed on to [{3 0}]"
	said := f.said()
	expect(t, said[len(said)-6:], "lane 0 of node 0"+end, "lane 1 of node 0"+end, "lane 0 of node 3"+end, "node 1"+end+pass, "node 2"+end+pass, "node 3"+end+pass)
	f, _, _ = grown(t)
	f.next(&rounds{want: 4}, coord.Saved{})
	f.Step([]wire.Envelope{{From: clients[0], To: self, Message: &wire.Failed{Reason: "no such row"}}, {From: clients[0], To: self, Message: &wire.Complaint{Node: 1, Reason: "it gives up"}}}, &f.fx)
	expectLine(t, f.said(), 4, 0, `"node 1 failed: no such row" gone [1]`)
	if caughtUp := slices.IndexFunc(said, func(s string) bool { return strings.HasPrefix(s, "lane 0 of node 3: record 7") }); caughtUp < 0 {
		t.Errorf("said %q", said)
	}
}

// failedAtOnce returns a controller that follows, of a job that has grown. It loses a node before it has asked any
// lane.
func failedAtOnce(t *testing.T) *follow {
	f, _, _ := grown(t)
	f.desk = recovered(t, f.job, coord.Options{Driver: &rounds{want: 4}, Term: 2}, coord.Saved{})
	f.deliver(clients[0], &wire.Complaint{Node: 2, Reason: "it speaks nonsense", Breach: true})
	return f
}

// TestAddedActorsHearEndOfFailedRecovery loses a node before the controller that follows has heard of the added lane
// and client. The controller also asks lanes whose nodes are not ready, sends the end to the actors that they name,
// has clients pass it on, and waits for all, so that the audit has their counts.
func TestAddedActorsHearEndOfFailedRecovery(t *testing.T) {
	f := failedAtOnce(t)
	const end, pass = `: end after commit 0: "it speaks nonsense" gone [2]`, " passed on to [{3 0}]"
	expect(t, f.said(), "lane 0 of node 0: *wire.Query", "lane 1 of node 0: *wire.Query",
		"lane 0 of node 0"+end, "lane 1 of node 0"+end, "node 1"+end, "node 2"+end)
	f.closed(clients[0], 7, 0)
	f.knows(twoLanes[1], 0, 1) // it is behind
	f.closed(twoLanes[1], 0, 1)
	expect(t, f.said())
	f.knows(twoLanes[0], 7, 1, added...)
	expect(t, f.said(), "lane 0 of node 3: *wire.Query", "node 1"+end+pass, "node 2"+end+pass, "lane 0 of node 3"+end, "node 3"+end+pass)
	f.closed(twoLanes[0], 0, 2)
	f.knows(freshLane, 7, 4, added...)
	expect(t, f.said()) // it names no other actor
	f.closed(freshLane, 0, 9)
	if f.fx.Outcome != nil {
		t.Fatal("it does not wait for the client that was added")
	}
	f.closed(freshClient, 5, 0)
	if o := f.fx.Outcome; o == nil || o.Counts.Sent != 12 || o.Counts.Applied != 12 {
		t.Errorf("outcome %+v", o)
	}
	f.fx.Reset()
	if f.knows(freshLane, 7, 4, bellows.Control{Kind: bellows.AddLane, Node: 4}); len(f.said()) > 0 {
		t.Error("it asks on though all is over")
	}
}

// TestFailedRecoverySkipsNodesThatLeft lets a lane name added actors, and another report that it has their counts.
func TestFailedRecoverySkipsNodesThatLeft(t *testing.T) {
	f := failedAtOnce(t)
	f.knows(twoLanes[0], 7, 1, added...)
	f.said()
	gone := []bellows.Control{{Kind: bellows.RemoveLane, Node: 3, Route: 5}, {Kind: bellows.RemoveClient, Node: 3, Route: 4}}
	f.deliver(twoLanes[1], &wire.Holding{Term: 2, Last: 9, Tail: 1, Added: added, Adopted: gone})
	const end = `: end after commit 0: "it speaks nonsense" gone [2 3]`
	expect(t, f.said(), "lane 0 of node 0"+end, "lane 1 of node 0"+end) // which may wait for node 3
	f.closeAll(clients[0], twoLanes[0], twoLanes[1])
	if f.fx.Outcome == nil || len(f.fx.Losses) > 1 {
		t.Errorf("outcome %+v, lost %q", f.fx.Outcome, f.fx.Losses)
	}
}

// TestUnconnectedRouteIsNamed replays changes of the route with a gap.
func TestUnconnectedRouteIsNamed(t *testing.T) {
	f, saved, _ := grown(t)
	f.tail[3].List[0].Control.Route++
	f.desk = recovered(t, f.job, coord.Options{Driver: &rounds{want: 4}, Term: 2}, coord.Saved{})
	f.ready(clients...)
	f.knows(twoLanes[0], 7, 1)
	f.knows(twoLanes[1], 7, 1)
	f.said()
	f.sendTail(f.desk, 0)
	if got := strings.Join(f.said(), "\n"); !strings.Contains(got, "the driver does not do again what it did") {
		t.Errorf("said %s", got)
	}
	saved.Whole = saved.Whole[1:]
	if _, err := coord.Recover(f.job, coord.Options{Driver: &rounds{want: 4}, Term: 2}, saved); err == nil {
		t.Error("a controller follows from a route that is not whole")
	}
}

// TestAnEndIsRemembered uses lanes that heard of the job's end, or of a lost node, from the previous controller. The
// job fails again, for the same reason, and although a flush is held whole nothing else is numbered. A job continues
// if no lane heard that it ended.
func TestAnEndIsRemembered(t *testing.T) {
	const reason = "split 0 clock 1 items [0,1) on node 1 failed: no such row"
	for name, c := range map[string]struct {
		says wire.Holding
		want string // the reason; empty: it continues
		kind bellows.Kind
	}{
		"failed":        {wire.Holding{End: &wire.End{Commit: 2, Reason: reason, Kind: bellows.BadData}}, reason, bellows.BadData},
		"gone":          {wire.Holding{Gone: []wire.Fence{{Node: 2, Incarnation: 1}}}, "node 2 is gone: the controller before has declared it so", bellows.Lost},
		"gone and over": {wire.Holding{Gone: []wire.Fence{{Node: 2, Incarnation: 1}}, End: &wire.End{Commit: 2, Reason: reason, Kind: bellows.BadData}}, reason, bellows.BadData},
		"nothing":       {wire.Holding{}, "", 0},
	} {
		f := newFollow(t, &rounds{want: 3})
		f.commit(0)
		f.next(&rounds{want: 3}, coord.Saved{})
		c.says.Term, c.says.Last, c.says.Tail, c.says.Flushes = 2, 2, 1, []wire.HeldFlush{heldOf(1, 1, 0)}
		f.deliver(twoLanes[0], &c.says)
		f.holds(1, 2, 1, heldOf(1, 1, 1))
		f.gives(0, 1)
		said := strings.Join(f.said(), "\n")
		if c.want == "" {
			if !strings.Contains(said, "record 3") || strings.Contains(said, "end after") {
				t.Errorf("%s: said %s", name, said)
			}
			continue
		}
		if n := strings.Count(said, fmt.Sprintf("end after commit 2: %q", c.want)); n != 4 || strings.Contains(said, "run split") || strings.Contains(said, "record 3") {
			t.Errorf("%s: %d receive the end: %s", name, n, said)
		}
		f.closeAll(append(slices.Clone(twoLanes), clients...)...)
		if o := f.fx.Outcome; o == nil || o.Kind != c.kind || o.Commits != 2 {
			t.Errorf("%s: outcome %+v", name, o)
		}
	}
}

// TestStateForPreviousControllerIsIgnored lets a lane's answer to the controller before come when the state is
// collected once more.
func TestStateForPreviousControllerIsIgnored(t *testing.T) {
	d := newCollecting(t, liveness.Times{})
	d.collecting(t)
	for _, m := range []wire.Message{&wire.Slab{Ref: partition[0], Values: make([]float32, 2), Term: 1}, &wire.Collected{Term: 1, Reason: "of old"}} {
		d.step(wire.Envelope{From: owner, To: self, Message: m})
	}
	d.step(slab(0, 2), slab(1, 2), collected(""))
	if d.uncollected() != "" {
		t.Error(d.uncollected())
	}
}
