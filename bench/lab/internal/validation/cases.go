package validation

import (
	"context"
	"slices"
	"time"

	"bellows/bench/lab/internal/jobs"
	"bellows/policy/reshape"
	"bellows/sim/lab/link"
	"bellows/sim/lab/script"
)

// Case is a kind of event, and the runs that show it: a plain one, to which costs are fitted, and one with a change.
type Case struct {
	Name  string // as --only names it
	Title string
	job   jobs.Paced
	// epochs is the number of epochs of a run. The event begins at the end of epoch at, and the measurement too, unless the change says otherwise.
	epochs, at int
	nodes      []member    // from node 1 on
	change     change      // of the second run
	links      []link.Port // of the second run, on the wire; nil: those of nodes
	cores      []int       // of the second run, by node from 1 on; nil: those of nodes
}

// member is a node.
type member struct {
	slots, lanes int
	up, down     float64 // bytes a second on the wire; 0: unlimited
	core         int     // that its process keeps to, from 1 on; 0: none
}

// change is what a case changes in a plain run.
type change struct {
	event  *script.Event                     // for the laboratory, which fills in its time; nil: none
	do     func(*run, context.Context) error // the same for real; it returns when it is complete
	cuts   time.Duration                     // between cuts; 0: none is taken
	store  float64                           // bytes a second that a node stores
	slower float64                           // of node 2, by a quota, from the event on; 0: as usual
	load   *load                             // of core 1; nil: no other work
	rolled bool                              // the job is rolled back
	after  int                               // epochs between the second cut and the event; 0: it is at the end of epoch at
	budget link.Budget                       // of node 1; its rate is on the wire
}

// given reports whether the time of the event is given to the laboratory: that of noticing a death, and of starting the
// processes again.
func (c *change) given() bool { return c.event != nil && c.event.Kind == script.Die }

// load is other work that uses a core for a part of each period.
type load struct {
	period, busy time.Duration
}

// megabit is bytes a second.
const megabit = 1e6 / 8

// Nodes of the cases.
var (
	both   = member{slots: 1, lanes: 1, up: 40 * megabit, down: 40 * megabit}
	worker = member{slots: 1, up: 40 * megabit, down: 40 * megabit}
)

// pinned returns a node with an unlimited link that keeps to a core.
func pinned(core, slots, lanes int) member { return member{slots: slots, lanes: lanes, core: core} }

// resting returns a job of tasks that rest for 60 ms, and of 400 KB of values in partitions.
func resting(splits, partitions int) jobs.Paced {
	return jobs.Paced{Rows: 10_000, Partitions: partitions, Items: slices.Repeat([]int{60}, splits), Item: time.Millisecond}
}

// Cases returns all kinds.
func Cases() []Case {
	three := []member{both, both, both}
	lost := []member{both, both, worker}
	wide := func() []member { return []member{pinned(0, 1, 1), pinned(0, 1, 1), pinned(0, 1, 1)} }
	const epochs, at = 24, 6
	resident := jobs.Paced{Rows: 120_000, Touched: 5_000, Partitions: 3, Items: []int{60, 60, 60}, Item: time.Millisecond}
	spinning := func(items ...int) jobs.Paced {
		return jobs.Paced{Rows: 20_000, Partitions: 2, Items: items, Item: time.Millisecond, Spin: true}
	}
	return []Case{
		{Name: "links", Title: "links of unlike rates, in both directions at once", job: resting(3, 3), epochs: epochs, at: at, nodes: wide(),
			links: []link.Port{{Up: 20 * megabit, Down: 40 * megabit}, {Up: 12 * megabit, Down: 30 * megabit}, {Up: 40 * megabit, Down: 16 * megabit}}},
		{Name: "budget", Title: "a budget of 16 Mbit/s for what node 1 sends", job: resting(3, 3), epochs: epochs, at: at,
			nodes: three, change: change{budget: link.Budget{Rate: 16 * megabit, Burst: 128 << 10}}},
		{Name: "slices", Title: "two nodes on one core, in slices", job: spinning(40, 10, 25, 5), epochs: epochs, at: at,
			nodes: []member{pinned(1, 1, 1), pinned(2, 1, 1)}, cores: []int{1, 1}},
		{Name: "slow", Title: "a node that is four times slower for tasks and messages", job: spinning(20, 20), epochs: epochs, at: at,
			nodes: []member{pinned(1, 1, 1), pinned(2, 1, 1)}, change: change{slower: 4}},
		{Name: "move", Title: "a partition of 1.6 MB moves", job: resident, epochs: 30, at: at, nodes: three,
			change: change{event: &script.Event{Kind: script.Move, Partition: 0, Node: 2}, do: (*run).asMove}},
		{Name: "split", Title: "a split moves", job: resting(4, 3), epochs: epochs, at: at, nodes: three,
			change: change{event: &script.Event{Kind: script.Split, Split: 0, Node: 2}, do: (*run).asSplit}},
		{Name: "leave", Title: "a node leaves with its splits and partitions", job: resting(6, 6), epochs: epochs, at: at, nodes: three,
			change: change{event: &script.Event{Kind: script.Leave, Node: 3}, do: (*run).asLeave}},
		{Name: "die", Title: "a worker dies", job: resting(6, 4), epochs: epochs, at: at, nodes: lost,
			change: change{event: &script.Event{Kind: script.Die, Node: 3}, do: (*run).asDeath}},
		{Name: "rollback", Title: "a node with tables dies", job: resting(3, 3), epochs: epochs, at: 2, nodes: three,
			change: change{event: &script.Event{Kind: script.Die, Node: 3}, do: (*run).asRollback, cuts: time.Second, rolled: true, after: 3}},
		{Name: "cuts", Title: "cuts in a store of 500 KB/s", job: resting(3, 3), epochs: epochs, at: at, nodes: three,
			change: change{cuts: 400 * time.Millisecond, store: 500e3}},
		{Name: "switch", Title: "a node loses its tasks and keeps tables", job: resting(6, 6), epochs: epochs, at: at, nodes: three,
			change: change{event: &script.Event{Kind: script.Switch, Node: 3, Role: reshape.Server}, do: (*run).asSwitch}},
		{Name: "load", Title: "other work on a core, half of the time", job: spinning(20, 20), epochs: epochs, at: at,
			nodes: []member{pinned(1, 1, 1), pinned(2, 1, 1)}, change: change{load: &load{200 * time.Millisecond, 100 * time.Millisecond}}},
	}
}
