package heartbeat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/heartbeat"
	"bellows/core/liveness"
	"bellows/link/wire"
)

// desk is the follower of node 2, with its effects.
type desk struct {
	*heartbeat.Follower
	fx heartbeat.Effects
}

func newFollower() *desk {
	return &desk{Follower: heartbeat.NewFollower(2, leader, liveness.Times{Lease: 10_000})}
}

// said returns its effects since the last call, a line each.
func (d *desk) said() (lines []string) {
	for _, e := range d.fx.Envelopes {
		line := fmt.Sprintf("%T", e.Message)
		switch m := e.Message.(type) {
		case *wire.Beat:
			line = "beat"
		case *wire.Ready:
			line = "ready"
		case *wire.Notice:
			line = "notice: " + m.Sentence
		case *wire.Complaint:
			line = fmt.Sprintf("complaint about %d, breach %v: %s", m.Node, m.Breach, m.Reason)
		}
		if e.From != client(2) || e.To != leader {
			line += fmt.Sprintf(" from %v to %v", e.From, e.To)
		}
		lines = append(lines, line)
	}
	if l := d.fx.Leave; l != nil {
		lines = append(lines, fmt.Sprintf("leaves: %q", l.Reason))
	}
	d.fx = heartbeat.Effects{}
	return lines
}

// ticks passes the time every half second, while bytes come from node 0 or do not. It returns all effects except
// heartbeats.
func (d *desk) ticks(from, to int64, hears bool, unfinished ...bellows.Unit) (lines []string) {
	heard := uint64(1)
	for now := from; now <= to; now += 500 {
		if hears {
			heard = uint64(now) + 2
		}
		d.Tick(now, heard, unfinished, &d.fx)
		for i, line := range d.said() {
			if i > 0 || line != "beat" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func TestAFollowerSaysThatItLives(t *testing.T) {
	d := newFollower()
	d.Start(&wire.Ready{}, &d.fx)
	expect(t, d.said(), "ready")
	for now := int64(0); now < 1000; now += 250 {
		d.Tick(now, 0, nil, &d.fx)
		expect(t, d.said(), "beat")
	}
	d.JobOver() // and when the job is over
	d.Tick(1000, 0, nil, &d.fx)
	expect(t, d.said(), "beat")
}

// TestNodeZeroIsWatched checks that node 0 is alive as long as bytes come from it, even without a complete frame.
func TestNodeZeroIsWatched(t *testing.T) {
	d := newFollower()
	expect(t, d.ticks(500, 120_000, true))
	const gone = `leaves: "node 0 is gone: it has been silent for 30.5 s"`
	expect(t, d.ticks(120_500, 150_500, false)) // the bytes of the first tick are news
	expect(t, d.ticks(151_000, 151_000, false), gone)
}

// TestNodeZeroIsWatchedFromTheBeginning never hears a byte.
func TestNodeZeroIsWatchedFromTheBeginning(t *testing.T) {
	d := newFollower()
	for now := int64(250); now <= 30_000; now += 250 {
		d.Tick(now, 0, nil, &d.fx)
		expect(t, d.said(), "beat")
	}
	d.Tick(30_001, 0, nil, &d.fx)
	expect(t, d.said(), "beat", `leaves: "node 0 is gone: it has been silent for 30.0 s"`)
}

// TestAFollowerLeavesOnce gives it every reason to leave, in every order of two.
func TestAFollowerLeavesOnce(t *testing.T) {
	reasons := map[string]func(d *desk){
		"node 0 hangs up": func(d *desk) { d.Disconnected(0, "EOF", false, &d.fx) },
		"node 0 is silent": func(d *desk) {
			for now := int64(200_000); now < 240_000; now += 500 {
				d.Tick(now, 7, nil, &d.fx)
			}
		},
		"its tasks hang": func(d *desk) {
			d.JobOver()
			for now := int64(300_000); now < 400_000; now += 500 {
				d.Tick(now, uint64(now), nil, &d.fx)
			}
		},
	}
	for first, one := range reasons {
		for second, other := range reasons {
			d := newFollower()
			one(d)
			if d.fx.Leave == nil {
				t.Fatalf("%s, and it stays", first)
			}
			d.fx = heartbeat.Effects{}
			other(d)
			if d.fx.Leave != nil {
				t.Errorf("%s, then %s: leaves again: %q", first, second, d.fx.Leave.Reason)
			}
		}
	}
}

// TestTheEndOfNodeZero disconnects node 0: that is a loss while the job runs, and releases the node when the job is
// over.
func TestTheEndOfNodeZero(t *testing.T) {
	for name, c := range map[string]struct {
		before func(d *desk)
		want   string
	}{
		"while the job goes on":          {func(*desk) {}, `leaves: "node 0 is gone: reset"`},
		"when its tasks have returned":   {func(d *desk) { d.JobOver(); d.TasksEnded(&d.fx) }, `leaves: ""`},
		"when they have, and it goes on": {func(d *desk) { d.TasksEnded(&d.fx) }, `leaves: "node 0 is gone: reset"`},
	} {
		d := newFollower()
		c.before(d)
		d.Disconnected(0, "reset", false, &d.fx)
		if got := d.said(); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	d := newFollower() // what cannot be is named, whenever it comes
	d.JobOver()
	d.TasksEnded(&d.fx)
	d.Disconnected(0, "row 9 of 4", true, &d.fx)
	expect(t, d.said(), `leaves: "node 0 is gone: row 9 of 4"`)
	d = newFollower() // and a silent one is as good as gone
	d.JobOver()
	d.TasksEnded(&d.fx)
	expect(t, d.ticks(500, 40_000, false), `leaves: ""`)
}

// TestReleasedNodeWaitsForItsTasks checks that what their executors write when they close is whole. Tasks that hang
// do not keep the node for ever.
func TestReleasedNodeWaitsForItsTasks(t *testing.T) {
	d := newFollower()
	d.JobOver()
	d.Disconnected(0, "EOF", false, &d.fx)
	expect(t, d.said())
	expect(t, d.ticks(500, 2000, false))
	d.TasksEnded(&d.fx)
	expect(t, d.said(), `leaves: ""`)
	d = newFollower()
	d.JobOver()
	d.Disconnected(0, "EOF", false, &d.fx)
	if got := d.ticks(500, 61_500, true); len(got) != 26 || got[25] != `leaves: "its executors have not closed 60.0 s after the job's end"` {
		t.Errorf("%q", got)
	}
}

func TestFollowerReportsLossOfOthers(t *testing.T) {
	d := newFollower()
	d.Disconnected(1, "EOF", false, &d.fx)
	d.Disconnected(3, "row 9 of 4", true, &d.fx)
	expect(t, d.said(), "complaint about 1, breach false: node 2 lost its connection to node 1: EOF",
		"complaint about 3, breach true: node 2 hears no more of node 3: row 9 of 4")
}

// TestUnendedTasksAreNamedAndGivenUp ends the job while a node's tasks continue.
func TestUnendedTasksAreNamedAndGivenUp(t *testing.T) {
	units := []bellows.Unit{{Split: 3, Clock: 4, Items: bellows.Range{End: 5}}, {Split: 4}}
	const until = "; the job is over, and this is given up after 60.0 s"
	const after = " 60.0 s after the job's end"
	for name, c := range map[string]struct {
		units    []bellows.Unit
		who, why string
	}{
		"executors": {nil, "its executors to close", "its executors have not closed" + after},
		"a task":    {units[:1], "split 3 clock 4 items [0,5) to return", "its tasks have not returned" + after + ": split 3 clock 4 items [0,5)"},
		"tasks": {units, "split 3 clock 4 items [0,5) to return, and 1 more tasks",
			"its tasks have not returned" + after + ": split 3 clock 4 items [0,5), split 4 clock 0 items [0,0)"},
	} {
		d := newFollower()
		expect(t, d.ticks(500, 100_000, true, c.units...)) // while the job runs, that is no wait
		d.JobOver()
		got := d.ticks(100_500, 161_000, true, c.units...)
		if len(got) != 26 || got[0] != "notice: node 2 has waited 2.5 s for "+c.who+until {
			t.Fatalf("%s: %d lines, the first %q", name, len(got), got[0])
		}
		expect(t, got[24:], "complaint about 2, breach false: node 2 leaves: "+c.why, fmt.Sprintf("leaves: %q", c.why))
		expect(t, d.ticks(161_500, 170_000, true, c.units...)) // and is not repeated
		d = newFollower()
		d.JobOver()
		if got := d.ticks(500, 5000, true, c.units...); len(got) != 2 {
			t.Errorf("%s: %q", name, got)
		}
		d.TasksEnded(&d.fx)
		expect(t, d.ticks(5500, 200_000, true, c.units...))
	}
}

// TestSleepIsNoPartOfTaskWait sleeps for an hour while the node's tasks return.
func TestSleepIsNoPartOfTaskWait(t *testing.T) {
	const hour = 3_600_000
	d := newFollower()
	d.JobOver()
	expect(t, d.ticks(500, 1500, true))
	got := d.ticks(hour, hour+60_500, true)
	if len(got) != 26 || got[0] != "notice: node 2 has waited 2.5 s for its executors to close; the job is over, and this is given up after 60.0 s" ||
		!strings.HasPrefix(got[25], "leaves: ") {
		t.Errorf("%d lines: %q", len(got), got)
	}
}

// TestAFollowerThatSleptBlamesNobody sleeps for an hour; then node 0 has a while to be heard, and no second hour.
func TestAFollowerThatSleptBlamesNobody(t *testing.T) {
	const hour = 3_600_000
	d := newFollower()
	expect(t, d.ticks(500, 1500, true))
	expect(t, d.ticks(hour, hour+5000, false))
	expect(t, d.ticks(hour+5500, hour+200_000, false), `leaves: "node 0 is gone: it has been silent for 30.5 s"`)
}

// TestASlowFollowerComesToTheEnd ticks every ten seconds only.
func TestASlowFollowerComesToTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		over bool
		want string
	}{"node 0 is gone": {false, `"node 0 is gone`}, "its tasks hang": {true, "its executors have not closed"}} {
		d := newFollower()
		if c.over {
			d.JobOver()
		}
		now := int64(0)
		for ; d.fx.Leave == nil && now < 10_000_000; now += 10_000 {
			heard := uint64(0)
			if c.over {
				heard = uint64(now)
			}
			d.Tick(now, heard, nil, &d.fx)
		}
		if got := d.said(); !strings.Contains(got[len(got)-1], c.want) || now > 700_000 {
			t.Errorf("%s: after %d ms %q", name, now, got[len(got)-1])
		}
	}
}

// TestNewLeaderHearsEverythingAgain replaces the process of node 0, before a node is ready and afterwards. The node
// announces to each process that it is ready, once it is, and which nodes it has lost.
func TestNewLeaderHearsEverythingAgain(t *testing.T) {
	d := newFollower()
	d.Followed(&d.fx)
	if got := d.said(); len(got) != 0 {
		t.Errorf("who is not ready says %q", got)
	}
	d.Disconnected(3, "EOF", false, &d.fx)
	d.Disconnected(4, "a frame was refused", true, &d.fx)
	d.Start(&wire.Ready{Fingerprint: bellows.Fingerprint{Data: 7}}, &d.fx)
	want := d.said()
	for range 2 {
		d.Followed(&d.fx)
		if got := d.said(); len(got) != 3 || !slices.Equal(got, want) {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	d.Followed(&d.fx)
	if m := d.fx.Envelopes[2].Message.(*wire.Ready); m.Fingerprint.Data != 7 {
		t.Errorf("it shows the job %+v", m.Fingerprint)
	}
}
