package coord

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// Dispatcher is what a driver may ask of the controller. It is valid during the driver's calls only.
type Dispatcher struct {
	c  *training
	fx *Effects // of the step that the driver's call is part of
}

// DispatchTask dispatches the next clock of a split to its executor: one task, or one for each unit into
// which the job divides the clock (core.Job.Units). They see everything that is committed now. Tasks of
// one split run, and count, in the order of dispatch, which is that of their items.
func (d *Dispatcher) DispatchTask(executor bellows.SplitID, args ...float64) {
	c := d.c
	if c.agenda.Withholds(c.claims.Next(executor), c.claims.Horizon()) {
		c.agenda.Queue(executor, args)
		return
	}
	if c.claims.Outstanding() == 0 {
		c.waits.Begin(c.nowMillis)
	}
	if c.recovery != nil {
		c.replayMove(executor)
	} else if c.claims.Rests(executor) {
		c.finishMove(executor, d.fx)
	}
	c.claims.Dispatch(executor, args, c.log.Number(), c.membership.Route().Node(executor), c.recovery != nil)
}

// ShowEpoch publishes an epoch's figures. What is replayed was published before
// (TestEpochsAppearOnce).
func (d *Dispatcher) ShowEpoch(e Epoch) {
	if d.c.tells(1) || planted.On("replay-emits") {
		d.c.log.AddEpoch(e, &d.fx.Told)
	}
}

// Keep marks the tables as they are now as the ones that the job returns, whatever comes after. It
// may be called only when no task is out.
func (d *Dispatcher) Keep() {
	if d.c.claims.Outstanding() > 0 {
		panic("coord: Keep while tasks are out")
	}
	d.c.control(bellows.Control{Kind: bellows.KeepTables})
}

// SetStaleness changes a table's consistency for the tasks dispatched from now on. It may be called
// only when no task is out.
func (d *Dispatcher) SetStaleness(t bellows.TableID, s table.Consistency) {
	if d.c.claims.Outstanding() > 0 {
		panic("coord: SetStaleness while tasks are out")
	}
	d.c.control(d.c.agenda.SetStaleness(wire.Staleness{Table: t, Clocks: int32(s)}))
}

// Finish says that no more tasks will come: the job ends when the last one out has been committed.
func (d *Dispatcher) Finish() { d.c.agenda.Finish() }
