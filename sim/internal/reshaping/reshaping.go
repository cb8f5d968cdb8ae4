// Package reshaping resizes a simulated job by policy/reshape, as node/elastic does in production. It carries out each
// Op by the same commands, each in separate events, and reports how it ended. It checks every Op that the machine
// begins and every answer that it gives.
//
// Make a Shaper for each controller: a controller's plans are lost with it. Ask it, Tick it, and Look at the end of every step of the
// controller. Report with Superseded the moves that operators ask for. The package refuses to decide on shapes.
package reshaping

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/join"
	"bellows/policy/plan"
	"bellows/policy/reshape"
	"bellows/policy/shape"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/trace"
)

// Job is the commands of a job (node/elastic.Job). A command returns when the controller has taken it, or with the reason why not.
type Job interface {
	// Facts returns the job as it is; false: its controller does not know, or the job is over.
	Facts() (reshape.Facts, bool)
	// Version returns the version of Facts.
	Version() (uint64, bool)
	// Add invites a node and returns its number.
	Add(slots, lanes int) (bellows.NodeID, error)
	// Uninvite gives up a node that was invited.
	Uninvite(n bellows.NodeID)
	MoveSplit(s bellows.SplitID, to bellows.NodeID) error
	StaySplit(s bellows.SplitID) error
	// MovePartition moves a partition, by its number.
	MovePartition(p int, to bellows.NodeID, urgent bool) error
	StayPartition(p int) error
	Remove(n bellows.NodeID) error

	// Joined reports whether it is known what has become of a node that was invited, and why it takes no part.
	Joined(n bellows.NodeID) (known bool, err error)
	// HasLeft reports whether a node was let go.
	HasLeft(n bellows.NodeID) bool
	// Later does something in another event, a little later.
	Later(do func())
	// Millis returns the time in milliseconds.
	Millis() int64
}

// Shaper drives one job while one controller leads it.
type Shaper struct {
	*trace.Trace
	*coverage.Coverage
	job     Job
	machine *reshape.Machine
	limits  reshape.Limits
	version uint64        // of the newest facts that the machine has, or is about to get
	seen    reshape.Facts // by which the ends of moves are seen
	ops     []*op
	asks    []*ask
	refused map[string]int // how often each step was refused since the last ask
	over    bool

	// OnAnswer is called with every answer; nil: not.
	OnAnswer func(o *reshape.Outcome)
}

// op is an Op that is under way.
type op struct {
	reshape.Op
	taken     bool           // the controller has taken it
	abandoned bool           // it is to end
	ended     bool           // its end is on its way to the machine
	node      bellows.NodeID // of Add: the node that was invited
}

// ask is what was asked of the machine, and whether it was answered.
type ask struct {
	reshape.Ask
	id       reshape.AskID
	drain    bellows.NodeID // 0: it is no drain
	answered bool
	then     func(*reshape.Outcome) // is called with the answer; nil: not
}

// New returns a Shaper of a job.
func New(t *trace.Trace, c *coverage.Coverage, job Job) *Shaper {
	l := reshape.Limits{Host: shape.Node{Slots: 1, Lanes: 1}, Limits: plan.Limits{Adds: join.GuestsMost}, Tries: 3, RetryMillis: 40}
	return &Shaper{Trace: t, Coverage: c, job: job, machine: reshape.New(l), limits: l, refused: map[string]int{}}
}

// Ask asks the machine for something, and returns its number. It reports whether the job could be asked. The answer may come before it
// returns.
func (d *Shaper) Ask(a reshape.Ask) (id reshape.AskID, taken bool) { return d.AskThen(a, nil) }

// AskIdle asks, unless something is wanted of the machine. So it never supersedes what a person has asked for.
func (d *Shaper) AskIdle(a reshape.Ask, then func(*reshape.Outcome)) (taken bool) {
	if d.Wanted() {
		return false
	}
	for _, other := range d.asks {
		if !other.answered && other.Shape == nil {
			d.Violated("reshape: advice is taken, and ask %d of a person has no answer", other.id)
		}
	}
	_, taken = d.AskThen(a, then)
	return taken
}

// Wanted reports whether something is wanted of the machine.
func (d *Shaper) Wanted() bool {
	_, wanted := d.machine.Progress()
	return wanted
}

// AskThen asks, and calls a function with the answer.
func (d *Shaper) AskThen(a reshape.Ask, then func(*reshape.Outcome)) (id reshape.AskID, taken bool) {
	f, known := d.job.Facts()
	if !known || d.over {
		return 0, false
	}
	var before, fx reshape.Effects // changes that follow from time and facts begin before the ask (seed 7228461066)
	d.machine.Tick(d.job.Millis(), &before)
	d.observe(f, &before)
	d.carryOut(&before)
	one := &ask{Ask: a, id: d.machine.Ask(a, &fx), then: then}
	if a.Drain != nil {
		one.drain = a.Drain.Node
	}
	d.asks = append(d.asks, one)
	clear(d.refused)
	d.Hit("reshape-asked")
	d.carryOut(&fx)
	return one.id, true
}

// Tick tells the machine the time.
func (d *Shaper) Tick() { d.step(func(*reshape.Effects) {}) }

// finish tells the machine that the job is over: every ask has an answer then.
func (d *Shaper) finish() {
	if d.over {
		return
	}
	d.step(func(fx *reshape.Effects) { d.machine.Stop("the job is over", fx) })
	d.over = true
	for _, a := range d.asks {
		if !a.answered {
			d.Violated("reshape: the job is over, and ask %d has no answer", a.id)
		}
	}
}

// Unanswered returns what persons have asked and has no answer. It is for the next shaper.
func (d *Shaper) Unanswered() (list []reshape.Ask) {
	for _, a := range d.asks {
		if !a.answered && a.Shape == nil {
			list = append(list, a.Ask)
		}
	}
	return list
}

func (d *Shaper) step(do func(*reshape.Effects)) {
	if d.over {
		return
	}
	var fx reshape.Effects
	d.machine.Tick(d.job.Millis(), &fx)
	do(&fx)
	d.carryOut(&fx)
}

func (d *Shaper) observe(f reshape.Facts, fx *reshape.Effects) {
	d.version, d.seen = f.Version, f
	d.machine.Observe(f, fx)
}

// carryOut checks and begins what the machine wants.
func (d *Shaper) carryOut(fx *reshape.Effects) {
	for i := range fx.Begin {
		o := &op{Op: fx.Begin[i]}
		d.check(o)
		d.ops = append(d.ops, o)
		d.job.Later(func() { d.begin(o) })
	}
	for _, id := range fx.Abandon {
		if at := slices.IndexFunc(d.ops, func(o *op) bool { return o.ID == id }); at >= 0 {
			d.Hit("reshape-abandoned")
			d.ops[at].abandoned = true
			o := d.ops[at]
			d.job.Later(func() { d.giveUp(o) })
		}
	}
	for i := range fx.Outcomes {
		d.answered(&fx.Outcomes[i])
	}
	for i := range fx.Notes {
		d.Note("reshape: %s", fx.Notes[i].Sentence)
		d.HitIf("reshape-step-refused", fx.Notes[i].Kind == reshape.Refused)
	}
}

// subject names what an Op changes.
func subject(o *op) string {
	switch {
	case o.Kind != plan.Move:
		return fmt.Sprintf("%v of node %d", o.Kind, o.Node)
	case o.Split >= 0:
		return fmt.Sprintf("split %d", o.Split)
	}
	return fmt.Sprintf("partition %d", o.Partition)
}

// check holds an Op against what else is under way, and what has become of the same step before.
func (d *Shaper) check(o *op) {
	name := subject(o)
	for _, u := range d.ops {
		if subject(u) == name {
			d.Violated("reshape: %v begins, and another change of %s is under way", &o.Step, name)
		}
		if o.Kind == plan.Delete && u.Kind == plan.Move && (u.Node == o.Node || u.From.Node == o.Node) {
			d.Violated("reshape: node %d is removed while %s moves", o.Node, subject(u))
		}
	}
	if d.refused[name] >= d.limits.Tries {
		d.Violated("reshape: %s was refused %d times, and is asked for again", name, d.refused[name])
	}
	for _, a := range d.asks {
		if o.Kind == plan.Move && !a.answered && a.drain != 0 && a.drain == o.Node {
			d.Violated("reshape: %s goes to node %d, which is to leave", name, o.Node)
		}
	}
}

// answered checks an answer: each ask has one, and a node that was drained takes no part.
func (d *Shaper) answered(o *reshape.Outcome) {
	at := slices.IndexFunc(d.asks, func(a *ask) bool { return a.id == o.Ask })
	if at < 0 || d.asks[at].answered {
		d.Violated("reshape: ask %d is answered twice, or was never asked", o.Ask)
		return
	}
	a := d.asks[at]
	a.answered = true
	if d.OnAnswer != nil {
		d.OnAnswer(o)
	}
	if a.then != nil {
		a.then(o)
	}
	d.HitIf("reshape-superseded", o.Superseded)
	d.HitIf("reshape-not-all-done", o.Err != "" && !o.Bad && !o.Superseded && !d.over)
	if o.Err != "" {
		return
	}
	d.Hit("reshape-done")
	if f, known := d.job.Facts(); known && a.drain != 0 {
		d.Hit("reshape-drained")
		if slices.ContainsFunc(f.Nodes, func(n shape.Node) bool { return n.ID == a.drain }) {
			d.Violated("reshape: node %d is said to have left, and takes part", a.drain)
		}
	}
}

// begin gives the command of an Op.
func (d *Shaper) begin(o *op) {
	if o.ended {
		return
	}
	if o.abandoned || d.over {
		d.end(o, bellows.Errorf(bellows.Interrupted, "reshape", "", "it is not wanted any more"))
		return
	}
	d.Note("reshape: to %v", &o.Step)
	var err error
	switch {
	case o.Kind == plan.Add:
		o.node, err = d.job.Add(o.Slots, o.Lanes)
	case o.Kind == plan.Delete:
		err = d.job.Remove(o.Node)
	case o.Split >= 0:
		err = d.job.MoveSplit(bellows.SplitID(o.Split), o.Node)
	default:
		err = d.job.MovePartition(o.Partition, o.Node, o.Urgent)
	}
	if err != nil {
		d.end(o, err)
		return
	}
	o.taken = true
	d.look(o)
}

// giveUp takes back an Op that has not come about. A node that is leaving still leaves.
func (d *Shaper) giveUp(o *op) {
	if !o.taken {
		return
	}
	if d.look(o); o.ended {
		return
	}
	var err error
	switch {
	case o.Kind == plan.Add:
		d.job.Uninvite(o.node) // by which it has its outcome
		return
	case o.Kind == plan.Delete:
		err = bellows.Errorf(bellows.Unavailable, "reshape", "", "it leaves, and has not left yet")
	case o.Split >= 0:
		err = d.job.StaySplit(bellows.SplitID(o.Split))
	default:
		err = d.job.StayPartition(o.Partition)
	}
	if err == nil {
		err = bellows.Errorf(bellows.Interrupted, "reshape", "", "its move was cancelled")
	}
	d.end(o, err)
}

// Look ends every Op that has come about, and tells the machine of a change of the route, or that the job is over. Call it at the
// end of every step of the controller.
func (d *Shaper) Look(over bool) {
	if over {
		d.finish()
	}
	if d.over {
		return
	}
	v, known := d.job.Version()
	if known && v != d.seen.Version {
		d.seen, _ = d.job.Facts()
	}
	for _, o := range d.ops {
		d.look(o)
	}
	if known && v != d.version {
		d.version = v
		d.job.Later(func() {
			if f, known := d.job.Facts(); known {
				d.step(func(fx *reshape.Effects) { d.observe(f, fx) })
			}
		})
	}
}

// look ends an Op if it has come about.
func (d *Shaper) look(o *op) {
	if o.ended || !o.taken {
		return
	}
	switch o.Kind {
	case plan.Add:
		if known, err := d.job.Joined(o.node); known {
			d.end(o, err)
		}
	case plan.Delete:
		if d.job.HasLeft(o.Node) {
			d.end(o, nil)
		}
	default:
		if f := &d.seen; o.Split >= 0 && f.Splits[o.Split] == o.Node || o.Split < 0 && f.Partitions[o.Partition] == o.Node {
			d.end(o, nil)
		}
	}
}

// Superseded ends the moves of a split or of a partition (the other is negative) that an operator has moved or kept since.
func (d *Shaper) Superseded(split, partition int) {
	for _, o := range d.ops {
		if o.Kind == plan.Move && o.taken && !o.ended && o.Split == split && (split >= 0 || o.Partition == partition) {
			d.end(o, bellows.Errorf(bellows.Interrupted, "reshape", "", "an operator has moved it"))
		}
	}
}

// Refused ends the move of a partition that its owner has given up.
func (d *Shaper) Refused(partition int, why string) {
	for _, o := range d.ops {
		if o.Kind == plan.Move && o.taken && !o.ended && o.Split < 0 && o.Partition == partition {
			d.end(o, bellows.Errorf(bellows.Unavailable, "reshape", "", "its owner gave it up: %s", why))
		}
	}
}

// end reports the end of an Op to the machine, a little later.
func (d *Shaper) end(o *op, err error) {
	o.ended = true
	d.job.Later(func() {
		if at := slices.Index(d.ops, o); at >= 0 {
			d.ops = slices.Delete(d.ops, at, at+1)
		}
		end := reshape.End{Node: o.node}
		if err != nil {
			kind := bellows.KindOf(err)
			end.Err, end.Final = err.Error(), kind == bellows.Config || kind == bellows.Bug
		}
		f, _ := d.job.Facts() // else of version 0, which the machine ignores
		d.step(func(fx *reshape.Effects) {
			if err != nil && !o.abandoned && !slices.Contains(fx.Abandon, o.ID) { // the machine may abandon it in this step
				d.refused[subject(o)]++
			}
			d.machine.Ended(o.ID, end, f, fx)
		})
	})
}

// Changing reports whether something is under way.
func (d *Shaper) Changing() bool { return len(d.ops) > 0 }
