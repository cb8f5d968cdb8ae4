package coord

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// What the driver asks for, and what is out. A task is out from its dispatch until the flush that
// finishes it has its number: another controller would dispatch it again, under the commit that it
// saw (docs/decisions/0032).

// Dispatcher is what a driver may ask of the controller. It is valid during the driver's calls only.
type Dispatcher struct {
	c  *Controller
	fx *Effects // of the step that the driver's call is part of
}

// DispatchTask dispatches the next clock of a split to its executor: one task, or one for each unit into
// which the job divides the clock (core.Job.Units). They see everything that is committed now. Tasks of
// one split run, and count, in the order of dispatch, which is that of their items.
func (d *Dispatcher) DispatchTask(executor bellows.SplitID, args ...float64) {
	c := d.c
	u := bellows.Unit{Split: executor, Clock: c.next[executor]}
	if c.draining && u.Clock > c.horizon {
		c.queue = append(c.queue, wire.Task{Unit: bellows.Unit{Split: executor}, Args: slices.Clone(args)})
		return
	}
	if c.tasks == 0 {
		c.waits.Begin(c.nowMillis)
	}
	if c.recovery != nil {
		c.replayMove(executor)
	} else if c.progress.Split(executor)+1 == u.Clock {
		c.finishMove(executor, d.fx)
	}
	withheld := c.roster.IsRecalled(executor) && !planted.On("dispatched-while-recalled")
	c.horizon = max(c.horizon, u.Clock)
	all, n := c.cfg.Items(executor, u.Clock), c.cfg.UnitsOf(executor, u.Clock)
	for i := range n {
		u.Items = all.Part(i, n)
		c.started(u)
		c.out[executor].add(u, c.log.Number(), args)
		if c.recovery == nil && !withheld {
			c.dispatchTo(c.roster.Route().Node(executor), c.log.Number()).Append(u, args)
		}
	}
}

// started counts a task that is out.
func (c *Controller) started(u bellows.Unit) {
	c.next[u.Split] = u.Clock + 1
	c.tasks++
	if u.Items.Len() > 0 {
		c.training++
	}
}

// dispatch is tasks for one client that rely on the same commit.
type dispatch struct {
	to      bellows.NodeID
	message *wire.Dispatch
}

// dispatchTo is the message to a client for tasks that rely on a record. Those that another record
// caused have one of their own, whatever came in the same step: another controller replays record
// by record, does not know what came in one step, and must dispatch the same.
func (c *Controller) dispatchTo(to bellows.NodeID, commit bellows.CommitNumber) *wire.Dispatch {
	if planted.On("dispatch-blind") {
		commit = 0
	}
	for len(c.newest) <= int(to) {
		c.newest = append(c.newest, 0)
	}
	if n := c.newest[to]; n > 0 && c.dispatches[n-1].message.Commit == commit {
		return c.dispatches[n-1].message
	}
	m := wire.New[wire.Dispatch]()
	m.Term, m.Commit = c.cfg.Term, commit
	c.dispatches = append(c.dispatches, dispatch{to, m})
	c.newest[to] = len(c.dispatches)
	return m
}

// ShowEpoch publishes an epoch's figures. What is replayed was published before
// (TestEpochsAppearOnce).
func (d *Dispatcher) ShowEpoch(e Epoch) {
	if d.c.tellsEpochs() || planted.On("replay-emits") {
		d.c.log.AddEpoch(e, &d.fx.Told)
	}
}

// Keep marks the tables as they are now as the ones that the job returns, whatever comes after. It
// may be called only when no task is out.
func (d *Dispatcher) Keep() {
	if d.c.tasks > 0 {
		panic("coord: Keep while tasks are out")
	}
	d.c.control(bellows.Control{Kind: bellows.KeepTables})
}

// SetStaleness changes a table's consistency for the tasks dispatched from now on. It may be called
// only when no task is out.
func (d *Dispatcher) SetStaleness(t bellows.TableID, s table.Consistency) {
	if d.c.tasks > 0 {
		panic("coord: SetStaleness while tasks are out")
	}
	m := wire.Staleness{Table: t, Clocks: int32(s)}
	d.c.staleness = append(d.c.staleness, m)
	d.c.control(staleness(m))
}

// Finish says that no more tasks will come: the job ends when the last one out has been committed.
func (d *Dispatcher) Finish() { d.c.finishing = true }

// inFlight is the tasks of one split that are out, in the order of their dispatch: what another
// controller would have to dispatch again. What is behind the list is memory of arguments that were
// there.
type inFlight []Out

// add takes note of a task, copying its arguments.
func (o *inFlight) add(u bellows.Unit, commit bellows.CommitNumber, args []float64) {
	n := len(*o)
	if n < cap(*o) {
		*o = (*o)[:n+1]
	} else {
		*o = append(*o, Out{})
	}
	t := &(*o)[n]
	t.Unit, t.Commit, t.Args = u, commit, append(t.Args[:0], args...)
}

// place is how many tasks of the split were dispatched before one and have no number; -1: it is not out.
func (o inFlight) place(u *bellows.Unit) int {
	return slices.IndexFunc(o, func(t Out) bool { return t.Unit == *u })
}

// remove forgets a task whose flush has its number, and reports whether it was out. As a rule it is the first.
func (o *inFlight) remove(u bellows.Unit) bool {
	list := *o
	for i := range list {
		if list[i].Unit == u {
			args := list[i].Args
			copy(list[i:], list[i+1:])
			list[len(list)-1] = Out{Task: wire.Task{Args: args}}
			*o = list[:len(list)-1]
			return true
		}
	}
	return false
}

// outstanding is every task that is out: those of a split in the order of their dispatch, and all
// in that of the commits that they see.
func (c *Controller) outstanding() (list []Out) {
	for s := range c.out {
		for _, t := range c.out[s] {
			t.Args = slices.Clone(t.Args)
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b Out) int { return cmp.Compare(a.Commit, b.Commit) })
	return list
}
