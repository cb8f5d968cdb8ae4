package coord

import (
	"fmt"

	"bellows"
	"bellows/link/wire"
	"runtime/debug"
)

// training has the driver and the work that it dispatches.
type training struct {
	routing
	dispatcher Dispatcher
}

// dispatchFirst dispatches the first tasks, or those that a saved run has left.
func (c *training) dispatchFirst(fx *Effects) {
	for _, record := range c.agenda.Records() {
		c.control(record)
	}
	c.dispatchAgain()
	c.dispatcher.fx = fx
	queue, any := c.agenda.TakeQueue()
	if !any && c.claims.Outstanding() == 0 {
		c.cfg.Driver.DispatchInitialTasks(&c.dispatcher)
	}
	for _, t := range queue {
		c.dispatcher.DispatchTask(t.Unit.Split, t.Args...)
	}
}

// dispatchAgain dispatches tasks that a saved run had out.
func (c *training) dispatchAgain() {
	list := c.agenda.TakeResumed(c.log.Number())
	if len(list) > 0 {
		c.waits.Begin(c.nowMillis)
	}
	c.claims.ClaimAll(list, c.membership.Route(), c.recovery == nil)
}

// tellDriver gives the driver the results of a flush that has just got its number, or got it earlier and is
// replayed. It returns how the job ends if the driver fails; nil: it has not.
func (c *training) tellDriver(from bellows.NodeID, results []wire.Result, fx *Effects) *Outcome {
	number := c.log.Number() // there may be more by what the driver does
	for i := range results {
		r := &results[i]
		last := c.claims.Settle(&r.Unit)
		if err := c.hand(Completion{Unit: r.Unit, Last: last, Commit: number, Result: r.Values}, fx); err != nil {
			return &Outcome{Kind: bellows.KindOf(err), Err: err,
				Reason: fmt.Sprintf("the driver failed on what %v of node %d signalled", r.Unit, from)}
		}
	}
	return nil
}

// hand gives the driver one completion. A panic is returned as an error, as a task's is: results of other nodes must
// not end the process.
func (c *training) hand(done Completion, fx *Effects) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("%w\n%s", p, debug.Stack())
		default:
			err = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	c.dispatcher.fx = fx
	c.cfg.Driver.HandleTaskCompletion(done, &c.dispatcher)
	return nil
}
