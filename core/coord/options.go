package coord

import (
	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/journal"
	"bellows/core/route"
	"bellows/link/wire"
)

// Options are a controller's own settings, apart from its job's.
type Options struct {
	// Term counts the controllers of the job, with this one; 0: it is the first.
	Term   bellows.Term
	Driver Driver
	// Collector gets the state of the tables when the job has finished or was interrupted; nil: it is not collected.
	Collector *checkpoint.Collector
	// Fingerprint identifies this node's job. Other nodes must show the same one when they are ready. Zero: they are
	// not asked.
	Fingerprint bellows.Fingerprint
	// Stays is why splits cannot go to other nodes; empty: they can.
	Stays string
	// TellFrom is the first record for which a controller that takes over reports epochs and visits again: the previous
	// one may have reported them. It has reported those of earlier records, which must therefore exist. Only an epoch
	// that ends with the last of these may be missing, so that it is reported again. 0: nothing is.
	TellFrom bellows.CommitNumber
	// Confirms delays reports of epochs and visits until a lane has their records. It is set if another process may
	// take over, which must find everything that was reported.
	Confirms bool
	Limits   Limits
}

// Limits are a controller's own bounds. Each is 0, for the default, or smaller, which costs messages and changes no
// result: tests make them small to reach them.
type Limits struct {
	// Records is how many records wait for the end of their clock: by default 4,096.
	Records int
	// Tail is how many bytes of records each lane keeps for a controller that takes over (server.Limits.Tail): by
	// default 4 MiB. When half of that is used since the job was last saved, a cut is due (CutDue). Negative: no
	// controller will take over.
	Tail int
}

// recordsMost is the default of Limits.Records.
const recordsMost = 4096

// Effects are what the caller is to do after a step.
type Effects struct {
	wire.Outbox
	journal.Told
	Notices []string // sentences about long waits
	Losses  []string // sentences about nodes that are lost from now on
	// Left are nodes that may go: nothing of the job is there any more.
	Left   []bellows.NodeID
	Buried []Buried  // nodes that are lost while the job continues: their messages are ignored
	Moves  []Moved   // moves of partitions that have ended
	Cuts   []CutDone // cuts that are stored, or were given up
	// Route is the job's new route; nil: it has not changed. The checker of this node gets it before the messages
	// leave.
	Route *route.Route
	// Met are actors that get messages and that the route does not have. The checker gets them too, before the
	// messages leave (validate.Checker.Meet).
	Met     []wire.Address
	Outcome *Outcome // set once, when the job is over, all actors have closed, and the state has been collected
}

// Reset empties the effects and keeps their memory.
func (fx *Effects) Reset() {
	clear(fx.Envelopes)
	told := journal.Told{Epochs: fx.Epochs[:0], Visits: fx.Visits[:0]}
	*fx = Effects{Outbox: wire.Outbox{Envelopes: fx.Envelopes[:0]}, Told: told, Notices: fx.Notices[:0],
		Losses: fx.Losses[:0], Left: fx.Left[:0], Buried: fx.Buried[:0], Moves: fx.Moves[:0], Cuts: fx.Cuts[:0],
		Met: fx.Met[:0]}
}

// notice adds a sentence, unless it is empty.
func (fx *Effects) notice(sentence string) {
	if sentence != "" {
		fx.Notices = append(fx.Notices, sentence)
	}
}
