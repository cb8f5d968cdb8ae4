package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// TestPullsAndPushesUseCurrentRoute moves a partition: what is asked and pushed of it goes to its new owner, and says by which route.
func TestPullsAndPushesUseCurrentRoute(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	r.announce(r.addLane, r.move(0, 0, laneAdded))
	d.start(0, 0, 0, 1)
	d.read(0, 0, 0, 8)
	d.expect("lane 1 of node 0: pull t0/p1 [] after commit 0 clock -1", "lane 0 of node 2: pull t0/p0 [] after commit 0 clock -1")
	if got := d.pulls[1]; got.Route != 2 || got.Parts[0].Generation != 2 {
		t.Errorf("it asks by route %d, at generation %d", got.Route, got.Parts[0].Generation)
	}
	d.tasks[1].AddRow(0, 1, []float32{1})
	if a := d.lease(1, bellows.PartitionRef{Table: 1}, wire.Shared); a == nil || a.Route != 2 {
		t.Errorf("it asks for a lease with %+v", a)
	}
	d.said()
	d.deliver(lanes[0], &wire.Granted{Request: 3, Pair: pairAt(1, 0, 1), Mode: wire.Shared, Values: make([]float32, 4)})
	d.said()
	r.announce(r.move(1, 0, laneAdded))
	d.finish(1)
	d.expect("lane 0 of node 0: *wire.Release", // to the lane that gave it
		"lane 0 of node 2: push flush 1 of node 1 t0/p0 [1][1] of splits 1<<0, done: 1 results, 1 pairs")
	if d.sent[0].Route != 3 {
		t.Errorf("it pushes by route %d", d.sent[0].Route)
	}
	d.deliver(controller, &wire.End{})
	var told []wire.Address
	for _, e := range d.fx.Envelopes {
		if _, end := e.Message.(*wire.End); end {
			told = append(told, e.To)
		}
	}
	if want := append(slices.Clone(lanes), laneAdded); !slices.Equal(told, want) {
		t.Errorf("the end is passed on to %v", told)
	}
}

// TestEndIsPassedToLanesOutsideRoute tells a client of lanes with the end, and again with more: it passes the end on to each once, and has one last word.
func TestEndIsPassedToLanesOutsideRoute(t *testing.T) {
	d := newDesk(t)
	more := wire.LaneAt(9, 1)
	for _, added := range [][]wire.LaneName{{{Node: laneAdded.Node}}, {{Node: laneAdded.Node}, {Node: 9, Index: 1}}, {{Node: laneAdded.Node}, {Node: 9, Index: 1}}} {
		d.deliver(controller, &wire.End{Term: 2, Reason: "it failed", Lanes: added})
	}
	var told []wire.Address
	words := 0
	for _, e := range d.fx.Envelopes {
		switch m := e.Message.(type) {
		case *wire.End:
			if told = append(told, e.To); m.Term != 0 || m.Reason != "it failed" {
				t.Errorf("it passes on %+v", m)
			}
		case *wire.Closed:
			words++
		}
	}
	if want := append(slices.Clone(lanes), laneAdded, more); !slices.Equal(told, want) || words != 1 {
		t.Errorf("the end is passed on to %v, with %d last words", told, words)
	}
}

// TestStaleRequestsWaitForRoute refuses a read, a lease and a push by a route that the client does not know yet, or
// knows already. Each is made again once, by the route for which it waited, at that route's owner; the flush under
// its name, with all that its push had.
func TestStaleRequestsWaitForRoute(t *testing.T) {
	for _, first := range []bool{false, true} { // the route comes before the refusals
		d := newDesk(t)
		r := newRoads(d)
		d.start(0, 0, 0, 1)
		d.tasks[0].AddRow(0, 1, []float32{1})
		d.tasks[1].AddRow(0, 2, []float32{2})
		d.tasks[1].AddRow(1, 3, []float32{4})
		d.finish(0)
		d.finish(1)
		d.start(1, 0, 0, 1)
		d.read(1, 1, 0, 4)
		d.lease(0, bellows.PartitionRef{Table: 1}, wire.Shared)
		d.said()
		tell := func() {
			r.announce(r.addLane)
			d.expect("") // not the one that is waited for
			r.announce(r.move(0, 0, laneAdded), r.move(1, 0, laneAdded))
		}
		if first {
			tell()
			d.expect("")
		}
		id := d.sent[0].Flush
		d.deliver(lanes[0], &wire.Stale{Route: 3, Request: 1})
		d.deliver(lanes[0], &wire.Stale{Route: 3, Request: 2})
		d.deliver(lanes[0], &wire.Stale{Route: 3, Flush: id, Pairs: []wire.Pair{pairAt(0, 0, 1), pairAt(1, 0, 1)}})
		if !first {
			d.expect("")
			tell()
		}
		want := []string{"lane 0 of node 2: pull t1/p0 [] after commit 0 clock -1", "lane 0 of node 2: *wire.Acquire",
			"lane 0 of node 2: push flush 1 of node 1 t0/p0 [1 2][1 2] of splits 0<<1 t1/p0 [3][4] of splits 0<<0, done: 2 results, 2 pairs"}
		got := strings.Split(d.said(), "\n")
		if !slices.Equal(got, want) {
			t.Errorf("said\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		again := d.sent[1]
		if again.Route != 3 || !again.Again || again.Done == nil || !slices.Equal(again.Pairs, []wire.Pair{pairAt(0, 0, 2), pairAt(1, 0, 2)}) {
			t.Errorf("sent again is %+v", again)
		}
		d.deliver(lanes[0], &wire.Held{Flush: id, Pairs: []wire.Pair{pairAt(0, 0, 1)}}) // what an owner of the past says changes nothing
		d.expect("")
		d.deliver(laneAdded, &wire.Held{Flush: id, Pairs: again.Pairs})
		d.expect("the controller: done flush 1 of node 1: 2 results, 2 pairs")
		d.deliver(laneAdded, committed(wire.Commitment{Flush: id, Commit: 4, Pairs: again.Pairs}))
		d.expectWaits(0)
	}
}

// TestAStaleDoneIsDoneAgain refuses the Done of a flush of two lanes, one part of which has moved. That part is sent
// to its new owner, which may hold it already, and the same flush is done again, with the same results.
func TestAStaleDoneIsDoneAgain(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	id := d.pushToBoth()
	done := func() *wire.Done {
		for _, e := range d.fx.Envelopes {
			if m, ok := e.Message.(*wire.Done); ok {
				return m
			}
		}
		t.Fatal("it is not done")
		return nil
	}
	d.deliver(lanes[0], &wire.Held{Flush: id})
	d.deliver(lanes[1], &wire.Held{Flush: id})
	wire.Free(done()) // which is the controller's
	d.said()
	d.deliver(controller, &wire.Stale{Route: 2, Flush: id, Pairs: []wire.Pair{pairAt(0, 1, 1)}})
	d.expect("")
	if w := d.Waits(); w.Pushes != 1 {
		t.Errorf("%+v: a flush that is not held is counted as held", w)
	}
	r.announce(r.addLane, r.move(0, 1, laneAdded))
	d.expect("lane 0 of node 2: push flush 1 of node 1 t0/p1 [1][2] of splits 0<<0, done: 1 results, 2 pairs")
	d.deliver(laneAdded, &wire.Held{Flush: id, Pairs: []wire.Pair{pairAt(0, 1, 2)}})
	again := done()
	if len(again.Results) != 1 || !slices.Equal(again.Results[0].Values, []float64{7, 8}) || again.Flush != id || !slices.Equal(again.Pairs, []wire.Pair{pairAt(0, 0, 1), pairAt(0, 1, 2)}) {
		t.Errorf("it is done again as %+v", again)
	}
	d.said()
	d.deliver(lanes[0], committed(wire.Commitment{Flush: id, Commit: 4}))
	d.deliver(laneAdded, committed(wire.Commitment{Flush: id, Commit: 4, Pairs: []wire.Pair{pairAt(0, 1, 2)}}))
	d.expectWaits(0)
	d.expect("")
}

// TestCommittedStalePartWaitsForNoRoute lets a controller that recovers number a flush which the previous one
// refused, since the new owner got the part with its partition. The rest waits for a clock, and the route may come
// late.
func TestCommittedStalePartWaitsForNoRoute(t *testing.T) {
	d := newDesk(t)
	newRoads(d)
	id := d.push(delta{0, 1, 1}, delta{0, 5, 2})
	d.deliver(lanes[0], &wire.Held{Flush: id})
	d.deliver(lanes[1], &wire.Held{Flush: id})
	d.said()
	d.deliver(controller, &wire.Stale{Route: 2, Flush: id, Pairs: []wire.Pair{pairAt(0, 1, 1)}})
	d.deliver(laneAdded, committed(wire.Commitment{Flush: id, Commit: 4, Pairs: []wire.Pair{pairAt(0, 1, 2)}}))
	d.deliver(lanes[0], committed(wire.Commitment{Flush: id, Commit: 4, Waiting: true}))
	for now := int64(1000); now < 60_000; now += 500 {
		d.Tick(now, &d.fx)
	}
	if got := d.said(); strings.Contains(got, "route") {
		t.Errorf("said %q", got)
	}
}

// TestAStaleDoneOfOneLane refuses a flush whose only lane has passed its Done on: the client does not know that it
// was held. It goes to two lanes then.
func TestAStaleDoneOfOneLane(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	id := d.push(delta{0, 1, 1}, delta{1, 1, 2})
	r.announce(r.addLane, r.move(1, 0, laneAdded))
	d.expect("") // all may be well
	d.deliver(controller, &wire.Stale{Route: 2, Flush: id, Pairs: []wire.Pair{pairAt(1, 0, 1)}})
	d.expect("lane 0 of node 2: push flush 1 of node 1 t1/p0 [1][2] of splits 0<<0, done: 1 results, 2 pairs")
	d.deliver(laneAdded, &wire.Held{Flush: id, Pairs: []wire.Pair{pairAt(1, 0, 2)}})
	d.expect("") // the rest is held, though no lane has reported that to this client
	d.deliver(lanes[0], &wire.Held{Flush: id})
	d.expect("the controller: done flush 1 of node 1: 1 results, 2 pairs")
}

// TestMissingRouteIsNamed lets a flush wait for a route: it is named, with until when, and the job ends then: as late as one without a commit, since a controller that
// follows another tells of the route when it knows what all lanes hold. Time that the node slept is no part of it.
func TestMissingRouteIsNamed(t *testing.T) {
	d := newDesk(t)
	d.push(delta{0, 1, 1})
	d.Tick(500, &d.fx)
	d.deliver(lanes[0], &wire.Stale{Route: 7, Flush: d.sent[0].Flush, Pairs: []wire.Pair{pairAt(0, 0, 1)}})
	var notices []string
	const hour = 3_600_000
	for now := int64(1000); now < hour; now += 500 {
		if now == 10_000 {
			now += 5000 // it sleeps for five seconds and a half, of which one counts
		}
		d.Tick(now, &d.fx)
		for _, n := range d.fx.Notices {
			if strings.Contains(n, "route") {
				notices = append(notices, n)
			}
		}
		d.expect("")
	}
	if want := "flush 1 of node 1 has waited 2.5 s for route 7, and gives up after 3600.0 s: node 1 goes by route 0"; len(notices) != 1 || notices[0] != want {
		t.Errorf("notices %q, want %q", notices, want)
	}
	for now := int64(hour); now < hour+8000; now += 500 {
		d.Tick(now, &d.fx)
	}
	if got := d.said(); !strings.Contains(got, "the controller: failed: flush 1 of node 1 waits for route 7, which has not come in 3600.5 s") || strings.Count(got, "failed") != 1 {
		t.Errorf("said %q", got)
	}
}

// TestAMoveEndsASubscription lets a task wait for rows that the former owner would have sent: it asks the current
// owner, for all that is cached.
func TestAMoveEndsASubscription(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	readTwice(d)
	d.start(2, 0, 0)
	d.ask(0, 0, 0, 4)
	if n := len(d.pulls); n != 2 {
		t.Fatalf("%d questions: the third read does not wait for what comes unasked", n)
	}
	r.announce(r.addLane, r.move(0, 0, laneAdded))
	d.expect("lane 0 of node 2: pull t0/p0 [] after commit 0 clock 1")
	if q := d.pulls[2]; !q.Parts[0].Subscribe || q.Parts[0].Generation != 2 {
		t.Errorf("it asks %+v", q)
	}
	// The owner before sends rows late.
	d.rows(lanes[0], 0, wire.RowsPart{Pair: pairAt(0, 0, 1), Complete: 1, Values: []float32{5, 5, 5, 5}})
	d.expect("")
	moved := wire.RowsPart{Pair: pairAt(0, 0, 2), Complete: 1, Values: []float32{6, 6, 6, 6}}
	d.rows(laneAdded, d.pulls[2].Request, moved)
	d.expect("wake split 0 clock 2 items [0,1)")
	if !d.read(0, 0, 0, 4) || d.tasks[0].View(0, 0, 1)[0] != 6 {
		t.Error("it reads something else")
	}
}

// TestAClientBeginsWithoutSplits makes a client that its job's route does not have. It receives the whole route and
// the current staleness, is given a split, runs a task of it, and gives it away again.
func TestAClientBeginsWithoutSplits(t *testing.T) {
	tables := []table.Schema{{Name: "w", Rows: 8, Width: 1, Partitions: 2}, {Name: "f", Rows: 8, Width: 1, Partitions: 2, Consistency: table.SSP(1)}}
	job := core.Job{Tables: tables, Route: route.Spread(tables, 2, lanes, []bellows.NodeID{3})}
	d := newDeskOf(t, job, client.Options{})
	r := &roads{job.Route, d}
	r.next(r.addLane())
	r.next(r.move(1, 0, laneAdded)())
	r.next(r.AddClient(1))
	d.deliver(controller, &wire.Route{Version: 3, Changes: r.Whole(), Begin: &wire.Begin{Commit: 9, Complete: make([]bellows.Clock, 2), Staleness: []int32{0, 5}}})
	r.announce(func() bellows.Control { return r.MoveSplit(1, 1) })
	d.dispatch(7, 9, 1)
	d.expect("run split 1 clock 7 items [0,1)")
	d.read(1, 1, 0, 4)
	d.expect("lane 0 of node 2: pull t1/p0 [] after commit 9 clock 1")
	d.answer(1, 9, 6)
	d.tasks[1].AddRow(1, 0, []float32{1})
	d.said()
	d.end(1)
	r.announce(func() bellows.Control { return r.MoveSplit(1, 3) })
	d.expect("")
	d.Computes(1, 10_000_000, &d.fx) // its goroutine is still ending, and the time is reported
	d.expect("")
	d.deliver(laneAdded, committed(wire.Commitment{Flush: d.sent[0].Flush, Commit: 10}))
	d.expectWaits(0)
	d.dispatch(8, 10, 1)
	if got := d.said(); got != "the controller: *wire.Complaint" {
		t.Errorf("a task of a split that is another's: %q", got)
	}
}

// TestARouteIsToldAgain lets another controller send the whole route once more: a subscription stays, and a client
// that has missed a change then knows it.
func TestARouteIsToldAgain(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	again := func() {
		d.deliver(controller, &wire.Route{Version: r.Version(), Changes: r.Whole(), Begin: &wire.Begin{Commit: 3, Complete: make([]bellows.Clock, 2), Staleness: []int32{0, -1}}})
	}
	d.start(0, 3, 0)
	d.read(0, 1, 0, 4)
	d.expect("lane 0 of node 0: pull t1/p0 [] after commit 3 clock -1")
	again()
	d.expect("")
	r.next(r.addLane())
	r.next(r.move(1, 0, laneAdded)())
	again()
	d.deliver(lanes[0], &wire.Stale{Route: 2, Request: 1})
	d.expect("lane 0 of node 2: pull t1/p0 [] after commit 3 clock -1")
}

// TestRouteWithoutRecordEndsJob lets another controller send a route that is older than the one the client knows.
func TestRouteWithoutRecordEndsJob(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	recorded := r.Route
	r.announce(r.addLane)
	d.deliver(controller, &wire.Route{Version: recorded.Version(), Changes: recorded.Whole(), Begin: &wire.Begin{Complete: make([]bellows.Clock, 2), Staleness: []int32{0, -1}}})
	d.expect("the controller: failed: the current controller knows 0 records and route 0, the previous one reported 0 and route 1: a decision is lost")
}

// TestMissingRecordEndsJob lets another controller know fewer records than a dispatch of the previous one has named:
// from now on that number belongs to another record.
func TestMissingRecordEndsJob(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	d.start(0, 3, 0)
	d.deliver(controller, &wire.Route{Changes: r.Whole(), Begin: &wire.Begin{Commit: 2, Complete: make([]bellows.Clock, 2), Staleness: []int32{0, -1}}})
	d.expect("the controller: failed: the current controller knows 2 records and route 0, the previous one reported 3 and route 0: a decision is lost")
}

// TestRoutesThatCannotBe checks that invalid routes are protocol violations.
func TestRoutesThatCannotBe(t *testing.T) {
	for name, say := range map[string]func(d *desk, r *roads){
		"a version is missing": func(d *desk, r *roads) {
			r.next(r.addLane())
			r.announce(func() bellows.Control { return r.AddClient(9) })
		},
		"a whole that lacks something": func(d *desk, r *roads) {
			d.deliver(controller, &wire.Route{Version: 1, Changes: r.Whole()[1:], Begin: &wire.Begin{Staleness: make([]int32, 2)}})
		},
		"a split with a task moves": func(d *desk, r *roads) {
			d.start(0, 0, 0)
			r.announce(func() bellows.Control { return r.AddClient(9) }, func() bellows.Control { return r.MoveSplit(0, 9) })
		},
		"a lane refuses what it was not sent": func(d *desk, r *roads) {
			d.push(delta{0, 1, 1})
			d.deliver(lanes[1], &wire.Stale{Route: 7, Flush: d.sent[0].Flush, Pairs: []wire.Pair{pairAt(0, 0, 1)}})
		},
	} {
		d := newDesk(t)
		say(d, newRoads(d))
		if got := d.said(); got != "the controller: *wire.Complaint" {
			t.Errorf("%s: %s", name, fmt.Sprintf("%q", got))
		}
	}
}

// TestNewOwnersRowsWaitForPreviousOwner moves a partition of which a lane holds an update. The new owner's rows,
// which have the update, come before that lane's report that it counts. They are asked for again after it, and the
// update is not laid over them. If the update is to be sent again, they lack it.
func TestNewOwnersRowsWaitForPreviousOwner(t *testing.T) {
	for counts, want := range map[bool]float32{true: 15, false: 15} {
		d := newDesk(t)
		r := newRoads(d)
		d.dispatch(0, 0, 0)
		d.start(1, 0, 0)
		d.tasks[0].AddRow(1, 0, []float32{5})
		d.end(0)
		r.announce(r.addLane, r.move(1, 0, laneAdded))
		d.said()
		d.miss(0, 1, 0, 1)
		d.expect("lane 0 of node 2: pull t1/p0 [] after commit 0 clock -1")
		d.answer(15, 1, -1)
		d.expect("")
		flush := flushID(1)
		again := "lane 0 of node 2: pull t1/p0 [] after commit 0 clock -1"
		if counts {
			d.deliver(lanes[0], committed(wire.Commitment{Flush: flush, Commit: 1}))
			d.expect(again)
			d.answer(15, 1, -1)
		} else {
			d.deliver(lanes[0], &wire.Stale{Route: 2, Flush: flush, Pairs: []wire.Pair{pairAt(1, 0, 1)}})
			d.expect(again, "lane 0 of node 2: push flush 1 of node 1 t1/p0 [0][5] of splits 0<<0, done: 1 results, 1 pairs")
			d.answer(10, 0, -1)
		}
		d.expect("wake split 0 clock 1 items [0,1)")
		if v := d.tasks[0].View(1, 0, 1); v[0] != want {
			t.Errorf("the update counts: %v; the task sees %v, not %v", counts, v, want)
		}
	}
}

// TestQuestionAfterFlushWaitsForNoRoute lets a lane refuse a question by a known route, while the former owner has
// not reported whether an update of the reader counts. The repeated question comes after that flush, and its wait is
// the flush's.
func TestQuestionAfterFlushWaitsForNoRoute(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	d.dispatch(0, 0, 0)
	d.start(1, 0, 0)
	d.tasks[0].AddRow(1, 0, []float32{5})
	d.end(0)
	d.ask(0, 1, 0, 1)
	r.announce(r.addLane, r.move(1, 0, laneAdded))
	d.deliver(lanes[0], &wire.Stale{Route: 2, Request: d.pulls[len(d.pulls)-1].Request})
	d.said()
	for now := int64(500); now < 60_000; now += 500 {
		d.Tick(now, &d.fx)
		for _, n := range d.fx.Notices {
			if strings.Contains(n, "route") {
				t.Fatalf("at %d ms: %s", now, n)
			}
		}
		if got := d.said(); strings.Contains(got, "failed") && strings.Contains(got, "route") {
			t.Fatalf("at %d ms: %s", now, got)
		}
	}
}
