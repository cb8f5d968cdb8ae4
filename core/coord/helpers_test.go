package coord_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/liveness"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

var (
	self    = wire.Address{Role: wire.Controller}
	lanes   = []wire.Address{{Role: wire.Lane}}
	clients = []wire.Address{{Node: 1}, {Node: 2}}
)

// rounds dispatches both splits, again when both are done, until a number of rounds is reached.
type rounds struct {
	want, done int
	seen       []string
}

func (d *rounds) DispatchInitialTasks(to *coord.Dispatcher) {
	to.DispatchTask(0, 1.5)
	to.DispatchTask(1, 2.5)
}

func (d *rounds) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) {
	d.seen = append(d.seen, fmt.Sprintf("commit %d: %v %v", c.Commit, c.Unit, c.Result))
	if d.done++; d.done == 2*d.want {
		to.ShowEpoch(coord.Epoch{Number: 1})
		to.Keep()
		to.Finish()
	} else if d.done%2 == 0 {
		d.DispatchInitialTasks(to)
	}
}

func (d *rounds) Save() []float64           { return []float64{float64(d.done)} }
func (d *rounds) Restore(s []float64) error { d.done = int(s[0]); return nil }

// desk is a controller and what it has said.
type desk struct {
	*coord.Controller
	fx coord.Effects
}

// stays is why jobs of these tests end when a node is lost that only runs tasks.
const stays = "they keep what cannot be saved"

// oneTable is the table of most jobs here: one row of one value.
var oneTable = table.Schema{Name: "w", Rows: 1, Width: 1}

// jobOf returns a job of two splits, which nodes 1 and 2 run, with one item in each clock. Its tables are on the given
// lanes.
func jobOf(leaseMillis int64, lanes []wire.Address, tables ...table.Schema) core.Job {
	return core.Job{Controller: self, Lanes: lanes, Clients: clients, Times: liveness.Times{Lease: leaseMillis}, Tables: tables,
		Route: route.Spread(tables, 2, lanes, []bellows.NodeID{1, 2}), Items: items(1)}
}

// items returns a job's Items: every clock has n of them.
func items(n int) func(bellows.SplitID, bellows.Clock) bellows.Range {
	return func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: n} }
}

// newDeskOf returns the controller of a job.
func newDeskOf(job core.Job, o coord.Options) *desk {
	return &desk{Controller: coord.New(job, o)}
}

// newDesk returns the controller of a job with one lane and the table oneTable.
func newDesk(d coord.Driver, leaseMillis int64) *desk {
	return newDeskOf(jobOf(leaseMillis, lanes, oneTable), coord.Options{Driver: d, Stays: stays})
}

// begin starts the job, and has both nodes be ready.
func (d *desk) begin() {
	d.Start(&d.fx)
	d.ready(clients...)
}

// newRunning returns a job's controller whose first tasks are out, and drops what it has said.
func newRunning(driver coord.Driver) *desk {
	d := newDesk(driver, 0)
	d.Start(&d.fx)
	d.said()
	return d
}

// newBegun returns newDesk for a job whose first tasks are out, since all nodes are ready.
func newBegun(driver coord.Driver, leaseMillis int64) *desk {
	d := newDesk(driver, leaseMillis)
	d.ready(clients...)
	d.Start(&d.fx)
	return d
}

// recovered returns a controller that takes over a job and has started.
func recovered(t *testing.T, job core.Job, o coord.Options, from coord.Saved) *desk {
	t.Helper()
	c, err := coord.Recover(job, o, from)
	require.NoError(t, err)
	d := &desk{Controller: c}
	d.Start(&d.fx)
	return d
}

// deliver lets the controller take one message.
func (d *desk) deliver(from wire.Address, m wire.Message) {
	d.Step([]wire.Envelope{{From: from, To: self, Message: m}}, &d.fx)
}

// ready lets the nodes of clients say so.
func (d *desk) ready(list ...wire.Address) {
	for _, a := range list {
		d.deliver(a, &wire.Ready{})
	}
}

func (d *desk) beat(list ...wire.Address) {
	for _, a := range list {
		d.deliver(a, &wire.Beat{})
	}
}

// ticks tells the time every half second up to a moment, while some nodes beat.
func (d *desk) ticks(from, to int64, beating ...wire.Address) {
	for now := from; now <= to; now += 500 {
		d.Tick(now, nil, &d.fx)
		d.beat(beating...)
	}
}

// said returns what the controller has sent since the last call, one line a message; signs of life are left out.
func (d *desk) said() []string {
	var lines []string
	for _, e := range d.fx.Envelopes {
		switch m := e.Message.(type) {
		case *wire.Records:
			for _, r := range m.List {
				var units []bellows.Unit
				for i := range r.Results {
					units = append(units, r.Results[i].Unit)
				}
				switch r.Control.Kind {
				case bellows.NoControl:
					lines = append(lines, fmt.Sprintf("%v: record %d %v", e.To, r.Number, units))
				case bellows.KeepTables:
					lines = append(lines, fmt.Sprintf("%v: record %d keep", e.To, r.Number))
				case bellows.SetStaleness:
					lines = append(lines, fmt.Sprintf("%v: record %d staleness of table %d is %d", e.To, r.Number, r.Control.Table, r.Control.Clocks))
				case bellows.AddLane, bellows.AddClient, bellows.MovePartition, bellows.MoveSplit:
					lines = append(lines, fmt.Sprintf("%v: record %d route %d", e.To, r.Number, r.Control.Route))
				case bellows.Drain:
					lines = append(lines, fmt.Sprintf("%v: record %d drain after clock %d", e.To, r.Number, r.Control.Clock))
				}
			}
		case *wire.Dispatch:
			for _, t := range m.Tasks {
				lines = append(lines, fmt.Sprintf("%v: run %v %v after commit %d", e.To, t.Unit, t.Args, m.Commit))
			}
		case *wire.End:
			line := fmt.Sprintf("%v: end after commit %d: %q gone %v", e.To, m.Commit, m.Reason, m.Gone)
			if len(m.Lanes) > 0 {
				line += fmt.Sprintf(" passed on to %v", m.Lanes)
			}
			lines = append(lines, line)
		case *wire.Beat, *wire.Fence: // TestTheLostAreFenced
		default:
			if h, handoff := m.(*wire.Handoff); handoff && h.Number == 0 { // of each recovery: TestAnotherControllerVoidsCopies
				continue
			}
			lines = append(lines, fmt.Sprintf("%v: %T", e.To, m))
		}
	}
	d.fx.Envelopes = d.fx.Envelopes[:0]
	return lines
}

func (d *desk) done(client, clock int) { d.doneAs(client, clock, clock+1) }

// doneAs delivers a done with the flush of a number.
func (d *desk) doneAs(client, clock, seq int) {
	unit := bellows.Unit{Split: bellows.SplitID(client - 1), Clock: bellows.Clock(clock), Items: bellows.Range{End: 1}}
	d.deliver(clients[client-1], finished(flushID(client, seq), unit, []float64{float64(client)}))
}

func (d *desk) closed(from wire.Address, sent, applied int64) {
	d.deliver(from, &wire.Closed{Counts: wire.Counts{Sent: sent, Applied: applied}})
}

// doneBoth lets both clients finish a clock.
func (d *desk) doneBoth(clock int) {
	d.done(1, clock)
	d.done(2, clock)
}

// flushID returns the name of a client's flush.
func flushID(client, seq int) bellows.FlushID {
	return bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(seq)}
}

// finished returns the message that a flush with one unit is done.
func finished(f bellows.FlushID, unit bellows.Unit, result []float64) *wire.Done {
	return &wire.Done{Flush: f, Results: []wire.Result{{Unit: unit, Values: result}}}
}

// closeAll lets actors close that have counted nothing.
func (d *desk) closeAll(list ...wire.Address) {
	for _, a := range list {
		d.closed(a, 0, 0)
	}
}

// expect wants the controller to have said these lines.
func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("said:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// expectLine wants a number of lines, of which one contains a text.
func expectLine(t *testing.T, got []string, lines, at int, text string) {
	t.Helper()
	if len(got) != lines || !strings.Contains(got[at], text) {
		t.Errorf("said %q; want %d lines and in line %d %q", got, lines, at, text)
	}
}

// expectError wants an error that contains a text.
func expectError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v; want %q", err, text)
	}
}
