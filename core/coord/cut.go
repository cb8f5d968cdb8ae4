package coord

import (
	"errors"
	"fmt"
	"slices"

	"bellows"
	"bellows/core/journal"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// A cut of the job at one record, taken while the job goes on: the controller as it is there, and all tables as they are after exactly the
// records before (docs/decisions/0063). It goes
//
//	arming    every lane is told that a cut is to come, and says when no exclusive lease is left whose table was not copied before
//	holding   flushes that would leave something half gathered at the record wait for their numbers; no task does
//	storing   the record is made, and lanes give their partitions away; what they have stored they say
//	stored    all is; the caller writes down what it is told (Effects.Cuts), and says so (CutKept) or that it cannot (CutLost)
//
// and can be given up in each, by name, which harms nothing: the next one is a new attempt. Being armed is no record, since nothing follows from it
// but when the record is made. Lanes give a cut up when they hear of another controller.
//
// What may be half gathered is a clock of a table with a barrier, whose deltas wait at lanes for the rest; and a clock that is divided into units, since what
// its units add to such tables is with their client until the last has run. So the record waits until what has been gathered is complete, and until no clock of a
// split has only some of its units committed.
type cutting struct {
	state                   cutState
	attempt                 uint64
	unarmed                 []wire.Address    // lanes that are not armed yet
	upTo                    bellows.Clock     // holding: flushes of later clocks wait, which have deltas for tables with a barrier
	held                    []journal.Arrival // that wait
	saved                   Saved
	shards                  []wire.Shard
	sinceMillis, heldMillis int64
}

type cutState uint8

const (
	noCut cutState = iota
	arming
	holding
	storing
	stored
)

// CutDone is a cut that is stored, to be written down: all partitions of the job in the order of their names, and the state of the controller. With a reason it was given up.
type CutDone struct {
	Saved  Saved
	Shards []wire.Shard
	Reason string
}

// Cut begins a cut. It fails where none can be taken now: ask again later.
func (c *Controller) Cut(fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	if c.cut.state != noCut {
		return errCutting
	}
	c.cut = cutting{state: arming, attempt: c.cut.attempt + 1, unarmed: slices.Clone(c.roster.Lanes()), sinceMillis: c.nowMillis}
	c.log.SaveBegins()
	for _, a := range c.roster.Lanes() {
		c.armLane(a, fx)
	}
	return nil
}

var errCutting = errors.New("a cut is under way: ask again when it has come to its end")

// armLane tells a lane of the cut that is to come, if one is.
func (c *Controller) armLane(a wire.Address, fx *Effects) {
	if c.cut.state == arming || c.cut.state == holding {
		fx.Send(c.cfg.Controller, a, &wire.Cut{Term: c.cfg.Term, Attempt: c.cut.attempt})
	}
}

// Cutting reports whether a cut is under way.
func (c *Controller) Cutting() bool { return c.cut.state != noCut }

// CutAt is the record of the cut that is under way, when what counts up to there was told of; 0: it has none yet, or none is under way.
func (c *Controller) CutAt() bellows.CommitNumber {
	if at := c.cut.saved.Commit; c.log.Confirmed(at) {
		return at
	}
	return 0
}

// takeShard takes a lane's word about the cut.
func (c *Controller) takeShard(from wire.Address, m *wire.Shard, fx *Effects) {
	k := &c.cut
	if m.Term != c.cfg.Term || m.Attempt != k.attempt || k.state == noCut || k.state == stored || c.ending != nil {
		return
	}
	switch {
	case m.Reason != "":
		c.giveUpCut(fmt.Sprintf("%v: %s", from, m.Reason), fx)
	case m.Commit == 0:
		k.unarmed = slices.DeleteFunc(k.unarmed, func(a wire.Address) bool { return a == from })
	case k.state == storing && m.Commit == k.saved.Commit && c.roster.Route().Has(m.Ref):
		k.sinceMillis = c.nowMillis
		c.log.Confirm(m.Commit)
		if at := c.roster.Route().Number(m.Ref); k.shards[at].Commit == 0 {
			k.shards[at] = *m
		}
		if !slices.ContainsFunc(k.shards, func(s wire.Shard) bool { return s.Commit == 0 }) || planted.On("cut-part-stored") {
			k.state = stored
			fx.Cuts = append(fx.Cuts, CutDone{Saved: k.saved, Shards: k.shards})
		}
	}
}

// disarm waits no more for a lane that was removed. What it has of a cut goes with it.
func (c *Controller) disarm(a wire.Address, fx *Effects) {
	switch c.cut.state {
	case arming, holding:
		c.cut.unarmed = slices.DeleteFunc(c.cut.unarmed, func(b wire.Address) bool { return a == b })
	case storing:
		if a.Role == wire.Lane {
			c.giveUpCut(fmt.Sprintf("%v has left", a), fx)
		}
	}
}

// tryCut goes on with a cut as far as that is possible at the end of a step: makes its record when nothing is half gathered.
func (c *Controller) tryCut(fx *Effects) {
	k := &c.cut
	if c.ending != nil || c.recovery != nil || !c.begun || c.tasks == 0 {
		return
	}
	if k.state == arming && len(k.unarmed) == 0 {
		k.state, k.upTo, k.sinceMillis = holding, c.gathered, c.nowMillis
	}
	if k.state != holding || (c.progress.Complete() < k.upTo || len(c.progress.Open()) > 0) && !planted.On("cut-half-gathered") {
		return
	}
	c.control(bellows.Control{Kind: bellows.CutTables})
	saved, _ := c.Save()
	if planted.On("cut-out-forgotten") && len(saved.Out) > 1 {
		saved.Out = saved.Out[1:]
	}
	k.state, k.saved, k.shards, k.sinceMillis = storing, saved, make([]wire.Shard, c.roster.Route().Partitions()), c.nowMillis
	c.releaseHeld(fx)
}

// holds keeps a flush from its number that would leave something half gathered, and reports whether it did.
func (c *Controller) holds(d journal.Arrival, fx *Effects) bool {
	k := &c.cut
	if k.state != holding || c.ending != nil || !(d.Done.Clock > k.upTo && c.gathers(d.Done.Pairs) || c.opens(d.Done.Results)) || planted.On("cut-nothing-held") {
		return false
	}
	if i := slices.IndexFunc(k.held, func(o journal.Arrival) bool { return o.Done.Flush == d.Done.Flush }); i >= 0 {
		if d.Supersedes(k.held[i]) {
			d, k.held[i] = k.held[i], d
		}
		wire.Free(d.Done)
		return true
	}
	if len(k.held) >= c.tasks { // each has finished a task that is out
		c.giveUpCut(fmt.Sprintf("%d flushes wait for it, and no more tasks are out", len(k.held)), fx)
		return false
	}
	if len(k.held) == 0 {
		k.heldMillis = c.nowMillis
	}
	k.held = append(k.held, d)
	return true
}

// releaseHeld numbers the flushes that have waited, in the order in which they came.
func (c *Controller) releaseHeld(fx *Effects) {
	list := c.cut.held
	c.cut.held = nil
	for _, d := range list {
		c.takeDone(d.From, d.Done, fx)
	}
}

// gathers reports whether pairs are of a table with a barrier, by the staleness of now.
func (c *Controller) gathers(pairs []wire.Pair) bool {
	k := &c.barriers
	if k.of == nil {
		k.of = make([]bool, len(c.cfg.Tables))
		for t := range c.cfg.Tables {
			k.of[t] = c.cfg.Barrier(bellows.TableID(t))
		}
	}
	for ; k.changes < len(c.staleness); k.changes++ {
		m := &c.staleness[k.changes]
		if int(m.Table) < len(k.of) {
			k.of[m.Table] = table.Consistency(m.Clocks) == table.BSP
		}
	}
	return slices.Contains(k.of, true) && slices.ContainsFunc(pairs, func(p wire.Pair) bool { return int(p.Ref.Table) < len(k.of) && k.of[p.Ref.Table] })
}

// barriers is which tables have one, as of so many changes of staleness.
type barriers struct {
	of      []bool
	changes int
}

// gather takes note of what a flush that has a number leaves gathered at lanes until its clock is complete.
func (c *Controller) gather(pairs []wire.Pair, results []wire.Result) {
	if c.gathers(pairs) {
		for i := range results {
			c.gathered = max(c.gathered, results[i].Unit.Clock)
		}
	}
}

// opens reports whether some of these units are the first of a clock of which others are missing.
func (c *Controller) opens(results []wire.Result) bool {
	for i := range results {
		u := &results[i].Unit
		if c.cfg.UnitsOf(u.Split, u.Clock) == 1 || u.Items.Begin != c.cfg.Items(u.Split, u.Clock).Begin {
			continue
		}
		n := 0
		for k := range results {
			if o := &results[k].Unit; o.Split == u.Split && o.Clock == u.Clock {
				n += o.Items.Len()
			}
		}
		if n < c.cfg.Items(u.Split, u.Clock).Len() {
			return true
		}
	}
	return false
}

// CutKept is the caller's word that a cut is safe. Lanes forget what they hold of it, and are asked whether they all have its record: when Covered says so, another controller may
// go on from it, and records before it may be let go (LetGo).
func (c *Controller) CutKept(commit bellows.CommitNumber, fx *Effects) {
	fx.Era = c.cfg.Era
	if c.cut.state != stored || c.cut.saved.Commit != commit || c.ending != nil {
		return
	}
	c.sendRecords(fx)
	for _, a := range c.roster.Lanes() {
		fx.Send(c.cfg.Controller, a, &wire.Cut{Term: c.cfg.Term, Attempt: c.cut.attempt, Commit: commit, Whole: true})
	}
	c.cut = cutting{attempt: c.cut.attempt}
	c.Covers(commit, fx)
}

// CutLost is the caller's word that a cut could not be written down.
func (c *Controller) CutLost(commit bellows.CommitNumber, reason string, fx *Effects) {
	fx.Era = c.cfg.Era
	if c.cut.state != noCut && c.cut.saved.Commit == commit && commit > 0 {
		c.giveUpCut(reason, fx)
		c.conclude(fx)
	}
}

// giveUpCut ends a cut that does not come about. The job goes on.
func (c *Controller) giveUpCut(reason string, fx *Effects) {
	k := &c.cut
	if k.state == noCut {
		return
	}
	what := "a cut"
	if k.saved.Commit > 0 {
		what = fmt.Sprintf("the cut at record %d", k.saved.Commit)
	}
	reason = fmt.Sprintf("%s was given up, and the next is tried at its time: %s", what, reason)
	fx.Cuts = append(fx.Cuts, CutDone{Saved: k.saved, Reason: reason})
	if c.ending == nil {
		fx.Notices = append(fx.Notices, reason)
		for _, a := range c.roster.Lanes() {
			fx.Send(c.cfg.Controller, a, &wire.Cut{Term: c.cfg.Term})
		}
	}
	held := k.held
	c.cut = cutting{attempt: k.attempt}
	c.cut.held = held
	c.releaseHeld(fx)
}

// awaitCut gives up a cut that does not go on: that keeps flushes waiting for a lease, or in which nothing has come about for as long as state is waited for. It reports
// whether it has.
func (c *Controller) awaitCut(fx *Effects) (givenUp bool) {
	k := &c.cut
	waited := c.nowMillis - k.sinceMillis
	switch {
	case k.state == holding && len(k.held) > 0 && c.nowMillis-k.heldMillis > c.cfg.Times.Lease:
		c.giveUpCut(fmt.Sprintf("%d flushes have waited %.1f s for %s", len(k.held), float64(c.nowMillis-k.heldMillis)/1000, c.lacking()), fx)
	case waited <= c.cfg.Times.Collect:
		return false
	case k.state == arming:
		c.giveUpCut(fmt.Sprintf("%v has had a lease from before for %.1f s", k.unarmed[0], float64(waited)/1000), fx)
	case k.state == holding:
		c.giveUpCut(fmt.Sprintf("it has waited %.1f s for %s", float64(waited)/1000, c.lacking()), fx)
	case k.state == storing:
		at := slices.IndexFunc(k.shards, func(s wire.Shard) bool { return s.Commit == 0 })
		c.giveUpCut(fmt.Sprintf("nothing has been stored for %.1f s, and partitions are missing, number %d the first", float64(waited)/1000, at), fx)
	case k.state == stored:
		c.giveUpCut(fmt.Sprintf("it has not been written down for %.1f s", float64(waited)/1000), fx)
	default:
		return false
	}
	return true
}

// lacking is who keeps what is half gathered from being whole.
func (c *Controller) lacking() string {
	behind := bellows.SplitID(0)
	for s := range c.next {
		if c.progress.Split(bellows.SplitID(s)) < c.progress.Split(behind) {
			behind = bellows.SplitID(s)
		}
	}
	if list := c.progress.Open(); len(list) > 0 {
		behind = list[0].Split
	}
	split, clock := c.culprit(behind, c.progress.Split(behind)+1)
	return fmt.Sprintf("split %d clock %d on node %d", split, clock, c.roster.Route().Node(split))
}
