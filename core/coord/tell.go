package coord

import (
	"bellows"
	"bellows/core/planted"
	"bellows/core/visits"
	"bellows/link/wire"
)

// untold is what the job has come to and nobody has been told of yet, where another process may take the place of this one (Options.Confirms): what is told must be found there, so that it
// waits until a lane has said that it has the record. A lane is asked when an epoch waits, or much that counts, and at a tick whatever waits; one question is under way at a time, and one
// that is not answered until the next tick goes to another lane as well.
//
// Nothing else waits: tasks leave behind their records, and not behind a lane's word. Turned down: an acknowledgement of each record, which is a frame for each clock and lane; and to tell what
// has been written to a connection, which says nothing of a machine that dies.
//
// Invariant: what a process has told of is found by the next one, as long as the lane lives that has said so (the simulation, of a process that is lost; TestWhatIsToldALaneHas).
type untold struct {
	visits    []visits.Visit
	epochs    []Epoch
	confirmed bellows.CommitNumber // the newest record of which a lane has said that it has it
	asked     bellows.CommitNumber // the newest that a lane was asked about
	lane      int                  // whose turn it is to be asked, counted on and on
}

// untoldMost is how much that counts waits before a lane is asked though no epoch has ended.
const untoldMost = 512

// tellVisits tells of what counts by the record that was numbered last.
func (c *Controller) tellVisits(results []wire.Result, fx *Effects) {
	list := &fx.Visits
	if c.cfg.Confirms {
		list = &c.untold.visits
	}
	for i := range results {
		*list = append(*list, visits.Visit{Commit: c.number, Unit: results[i].Unit})
	}
}

// tellEpoch tells of an epoch that has ended by the record that was numbered last.
func (c *Controller) tellEpoch(e Epoch, fx *Effects) {
	e.Commit = c.number
	if c.cfg.Confirms {
		c.untold.epochs = append(c.untold.epochs, e)
	} else {
		fx.Epochs = append(fx.Epochs, e)
	}
}

// tells reports whether what the last record has come to is told of: in a replay nothing is that the one before has told for sure.
func (c *Controller) tells() bool {
	return c.recovery == nil || c.cfg.TellFrom > 0 && c.number >= c.cfg.TellFrom
}

// tellsEpochs is tells for the epoch that the last record ends: it is told behind what counts up to there, and the one before may have come to the one and not to the other. Who is told an epoch twice
// takes no notice.
func (c *Controller) tellsEpochs() bool {
	return c.recovery == nil || c.cfg.TellFrom > 0 && c.number+1 >= c.cfg.TellFrom
}

// confirmed takes a lane's word that it has the records up to one.
func (c *Controller) confirmed(last bellows.CommitNumber) {
	c.untold.confirmed = max(c.untold.confirmed, last)
}

// tell tells what a lane has the records of; all of it, when the job is over. Then it asks about the rest, if that is worth it.
func (c *Controller) tell(fx *Effects) {
	u := &c.untold
	may := func(n bellows.CommitNumber) bool { return n <= u.confirmed || c.over || planted.On("told-unconfirmed") }
	n := 0
	for n < len(u.visits) && may(u.visits[n].Commit) {
		n++
	}
	if n > 0 {
		fx.Visits = append(fx.Visits, u.visits[:n]...)
		u.visits = append(u.visits[:0], u.visits[n:]...)
	}
	for n = 0; n < len(u.epochs) && may(u.epochs[n].Commit); n++ {
	}
	if n > 0 {
		fx.Epochs = append(fx.Epochs, u.epochs[:n]...)
		u.epochs = append(u.epochs[:0], u.epochs[n:]...)
	}
	if u.asked <= u.confirmed && (len(u.epochs) > 0 || len(u.visits) >= untoldMost) {
		c.confirm(fx)
	}
}

// confirm asks the lane whose turn it is how far it has come.
func (c *Controller) confirm(fx *Effects) {
	u := &c.untold
	if len(u.visits)+len(u.epochs) == 0 || c.recovery != nil || c.over {
		return
	}
	if u.asked > u.confirmed {
		u.lane++
	}
	c.sendRecords(fx)
	u.asked = c.number
	fx.Send(c.cfg.Controller, c.cfg.Lanes[u.lane%len(c.cfg.Lanes)], &wire.Query{Term: c.cfg.Term})
}
