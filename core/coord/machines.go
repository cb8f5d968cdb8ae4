package coord

import (
	"cmp"

	"bellows"
	"bellows/core"
	"bellows/core/agenda"
	"bellows/core/checkpoint"
	"bellows/core/claim"
	"bellows/core/jobend"
	"bellows/core/journal"
	"bellows/core/liveness"
	"bellows/core/membership"
	"bellows/core/route"
)

// config is the job and the options of a controller.
type config struct {
	core.Job
	Options
}

// machines are the state machines of a controller, and the state that its layers share. The layers are, from below:
// machines, routing, training, Controller. A layer calls its own functions and those of layers below it.
type machines struct {
	cfg       config
	nowMillis int64

	log        *journal.Journal
	membership *membership.Group
	claims     *claim.Book // what is out, and what may count next
	cut        *checkpoint.Cutter
	ending     *jobend.Ending
	recovery   *recovery // nil: it is the first, or has taken over

	agenda agenda.Agenda // what the driver and the user want
	opened bool          // Start was called
	begun  bool          // the first tasks have left
	waits  liveness.Wait // for what is next, until the job is over
}

// Training reports whether a task that visits items is out. Only then does time count as training time.
func (c *machines) Training() bool { return c.claims.Training() }

// Progress returns the last clock that every split has completed, the last clock that was dispatched of any split, and
// the number of the last commit.
func (c *machines) Progress() (complete, furthest bellows.Clock, commit bellows.CommitNumber) {
	return c.claims.Progress().Complete(), c.claims.Furthest(), c.log.Number()
}

// Remaining returns how many items are to be visited before an interrupted job stops, at a point from which it can
// resume.
func (c *machines) Remaining() (items int) {
	if !c.agenda.Draining() || c.ending.Begun() {
		return 0
	}
	return c.claims.Unfinished()
}

// Begun reports whether the first tasks were dispatched: all nodes were ready.
func (c *machines) Begun() bool { return c.begun }

// Recovering reports whether the controller takes over, all nodes are ready, and it waits for lanes to report what the
// previous controller has recorded.
func (c *machines) Recovering() bool { return c.opened && c.recovery != nil && c.membership.AllReady() }

// Ending reports whether the job is to end, so that it is not saved any more.
func (c *machines) Ending() bool { return c.ending.Begun() }

// Collecting reports whether all actors have closed and lanes send the state.
func (c *machines) Collecting() bool { return c.ending.Collecting() }

// Awaits reports whether a node is not ready yet.
func (c *machines) Awaits(n bellows.NodeID) bool { return c.membership.Awaits(n) }

// Gone reports whether a node is lost.
func (c *machines) Gone(n bellows.NodeID) bool {
	return c.membership.Lost(n) || c.membership.IsRemoved(n)
}

// Route returns the current route.
func (c *machines) Route() *route.Route { return c.membership.Route() }

// Moving returns the moves that have no record, in the order of their requests.
func (c *machines) Moving() []Moving { return c.membership.Moving() }

// New makes the controller of a job.
func New(job core.Job, opt Options) *Controller {
	cfg := config{job, opt}
	cfg.Limits.Records = cmp.Or(cfg.Limits.Records, recordsMost)
	c := &Controller{}
	c.cfg = cfg
	c.cfg.Times, c.cfg.Term = cfg.Times.Or(), max(cfg.Term, 1)
	c.claims = claim.NewBook(&c.cfg.Job, c.cfg.Term)
	c.log = journal.New(journal.Options{Self: cfg.Controller, Term: c.cfg.Term, RecordsMax: cfg.Limits.Records,
		TailMax: cfg.Limits.Tail, Confirms: cfg.Confirms})
	c.membership = membership.New(job, membership.Options{Term: c.cfg.Term, Stays: cfg.Stays})
	c.cut = checkpoint.NewCutter(c.cfg.Job, c.cfg.Term)
	c.ending = jobend.New(&c.cfg.Job, c.cfg.Term, cfg.Collector)
	c.dispatcher.c = &c.training
	return c
}
