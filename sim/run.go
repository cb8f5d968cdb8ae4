package sim

import (
	"fmt"
	"io"
	"math"
	"runtime/debug"

	"bellows"
	"bellows/sim/internal/model"
	"bellows/sim/internal/parcel"
	"bellows/sim/internal/schedule"
	"bellows/store"
	"bellows/table"
)

// Report is what became of one schedule.
type Report struct {
	Seed      uint64
	Violation string // the first promise that was broken, with the circumstances; empty: none
	Reason    string // why the job ended; empty: it finished
	Hash      uint64 // of everything that happened, in order
	Millis    int64  // virtual time
	Commits   int

	Lives int // how often the job went on after an interruption

	messages int // that actors have posted
	clocks   int // that every split has completed
	splits   int
	shape    uint64
	bits     uint64                                     // of the tables at the end, as far as they are determined; 0: some are lost
	covered  [schedule.FaultKinds][schedule.Phases]bool // which faults struck in which phases
	struck   [schedule.FaultKinds][parties]bool
	families [schedule.Families]bool // of faults that struck
	streams  bool
	happened [events]bool
}

// Run plays the schedule of a seed. With a log, every message and fault is written there.
func Run(seed uint64, log io.Writer) Report { return run(seed, log, "") }

// run is Run with nothing said but by the checks whose formats begin like that.
func run(seed uint64, log io.Writer, only string) (r Report) {
	w := newWorld(seed, log)
	w.only = only
	defer func() {
		if p := recover(); p != nil {
			w.violated("P10: the core panics: %v", p)
			if log != nil {
				fmt.Fprintf(log, "%s", debug.Stack())
			}
		}
		r = w.report(seed)
	}()
	for next := w; next != nil; next = w.again() {
		w = next
		w.run()
		w.happened[stalenessTurned] = w.happened[stalenessTurned] || w.driver.Turned
		w.happened[farAhead] = w.happened[farAhead] || w.driver.Ahead > 64
		if w.violation == "" && !w.invaded {
			w.checkEnd()
		}
	}
	return r
}

func (w *world) report(seed uint64) Report {
	r := Report{Seed: seed, Violation: w.violation, Hash: uint64(w.sum), Millis: w.Now, Commits: len(w.oracle.Log), Lives: w.life + 1,
		messages: w.messages, clocks: len(w.oracle.ClockAt), splits: w.Job.Splits, shape: w.Job.Shape, bits: uint64(w.bits), covered: w.faults.covered, struck: w.faults.struck, families: w.faults.families, streams: w.Streams, happened: w.happened}
	switch {
	case w.invaded:
		r.Reason = "invaded"
	case w.outcome == nil:
		r.Reason = "node 0 is gone"
	case w.outcome.Reason == "" && w.outcome.Uncollected != nil:
		r.Reason = w.uncollected()
	default:
		r.Reason = w.outcome.Reason
	}
	return r
}

// occasion is something that a schedule may or may not bring about.
type occasion int

// The occasions, each of which must come about in some schedules for their checks to mean anything.
const (
	laneFull        occasion = iota // a lane had no room for a flush
	exclusiveHere                   // a task worked on a slab itself
	exclusiveCopy                   // a task worked on a copy
	sharedLease                     // a task leased a partition to read it
	severalUnits                    // a flush carried tasks of several splits
	keptImage                       // the driver kept the tables
	stalenessTurned                 // the driver changed a table's staleness
	waitNamed                       // a wait was long enough to be named
	strangerRefused                 // a push of an older generation was refused
	tornRefused                     // a partition whose exclusive holder died was refused
	deathTold                       // the controller was told of a crash before the silence told it
	nodeNamed                       // the controller named who is silent, not ready, or keeps the job from ending
	flushNamed                      // a client named a lane that does not hold its part
	gaveUp                          // a node gave up on node 0
	overtaken                       // what the controller says or hears overtook the rest
	partsOvertaken                  // and came between the parts of a message
	keysSubscribed                  // a client subscribed to keys
	keysRelayed                     // and was sent some that had changed
	keysGivenUp                     // and wanted no more of them
	answeredEarly                   // a task was answered before it had given its slot away
	sessionResumed                  // a connection was made again, and the session went on behind what had come
	connectedAgain                  // a connection was made again
	pushReplayed                    // a lane got a part again that it had
	slotCompared                    // a rule's memory was held against the model
	lossyAudit                      // a job that had lost a node accounted for what it applied
	farAhead                        // a split had more than 64 clocks dispatched and not committed
	prefetched                      // a task asked for rows ahead
	narrowed                        // values travelled in 16 bits
	endless                         // a task did not end by itself
	commitsSplit                    // commitments went into several messages for their number
	relaySplit                      // rows that came unasked did, for their size
	recordsFull                     // so many records waited for their clock as may
	tasksNamed                      // the controller named a task that does not end
	newerForged                     // somebody named a generation that is not there yet
	resumed                         // a job went on from its image after an interruption
	haunted                         // and was sent a push of the life before
	halved                          // parts of a flush came to a lane one by one
	lossStruck                      // a message between a client and a lane was lost
	lossFound                       // and the job ended for it
	neverReady                      // a node was waited for until the job was given up
	culpritNamed                    // node 0 named a task that did not go on, though it was not the first of its node
	outlived                        // an actor was told something by a controller of an earlier term
	guardRefused                    // what an invader said did not pass the guard
	breachNamed                     // or did, and an actor called it a breach
	wordSlots                       // the memory of the rule of words was held against the model
	slowClosing                     // executors took their time to close when the job was over
	damageRefused                   // a partition was not restored from an image that had been damaged
	laneAdded                       // a lane began while the job ran
	clientAdded                     // a client did
	splitMoved                      // a split went to another node
	followed                        // another controller followed
	followedSaved                   // from a state that was saved, behind which lanes had let records go
	followedBroken                  // one whose last words had not all left
	caughtUp                        // a lane had fewer records than others
	heldCommitted                   // flushes were numbered that lanes held
	ghostRefused                    // a lane refused a record of the controller before
	tailCut                         // lanes had no memory for the records that were needed
	events
)

var occasionNames = [events]string{"lane full", "exclusive lease in place", "exclusive lease on a copy", "shared lease",
	"flush of several splits", "tables kept",
	"staleness changed", "wait named", "stranger refused", "torn partition refused",
	"death told", "node named", "flush named", "node 0 given up", "controller first", "controller between parts",
	"keys subscribed to", "keys sent unasked", "keys given up", "answered early", "session resumed", "connected again", "push again", "slots compared", "audit after a loss", "far ahead", "rows asked for ahead", "values of 16 bits",
	"task without end", "commitments split", "rows unasked split", "records full", "task named", "newer generation", "resumed",
	"push of the life before", "push in halves", "message lost", "loss found", "never ready", "culprit named", "earlier term", "refused by a guard", "called a breach",
	"slots of words compared", "closing takes time", "damaged image refused", "lane added", "client added", "split moved",
	"controller followed", "followed from a save", "followed in mid-word", "lane caught up", "held flush numbered", "old term refused", "tail cut off"}

func (e occasion) String() string { return occasionNames[e] }

// hash adds a partition's state to the bits of the tables at the end of a job that has finished. All of it is the same however the job
// ran, but for what tasks made of state under leases: those of one clock take turns in any order.
func (w *world) hash(ref bellows.PartitionRef, im *store.Image) {
	if ref.Table == model.Weights && !w.Job.Barrier() {
		return // each flush has an update of its own, in the order of commits
	}
	var d parcel.Hash
	d.Word(uint64(ref.Table)<<32 | uint64(ref.Partition))
	for _, k := range im.Keys {
		d.Word(uint64(k))
	}
	if ref.Table != model.State {
		d.Values(im.Values)
	}
	for i := model.StateWidth - 1; ref.Table == model.State && i < len(im.Values); i += model.StateWidth {
		d.Word(uint64(math.Float32bits(im.Values[i])))
	}
	for _, slot := range im.Slots {
		if ref.Table != model.Words || w.Job.Schemas[model.Words].Consistency == table.BSP { // else what the last commit to each row said
			d.Values(slot)
		}
	}
	w.bits ^= d // in any order of lanes
}
