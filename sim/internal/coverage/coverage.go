// Package coverage is what a schedule has brought about: which faults were injected where, and which events came about that it may or may not
// bring about. Each must come about in some schedules for the checks to mean anything.
//
// Tell a Coverage of an event with Hit or HitIf where it comes about, and of a fault with the arrays. It says nothing of statements: that is
// sim/cover.
package coverage

import (
	"slices"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/cutting"
	"bellows/sim/internal/moving"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/visiting"
)

// Coverage is what one schedule has brought about, in all lives of its job.
type Coverage struct {
	Events   [Events]bool
	Faults   [schedule.FaultKinds][schedule.Stages]bool
	Nodes    [schedule.FaultKinds][schedule.Parties]bool // of the faults that concern whole nodes
	Families [schedule.Families]bool                     // of faults
	Moves    moving.Coverage
	Guests   visiting.Coverage
	Cuts     cutting.Coverage
}

// Hit takes note of an event.
func (c *Coverage) Hit(e Event) { c.Events[e] = true }

// HitIf takes note of an event where it has come about.
func (c *Coverage) HitIf(e Event, hit bool) { c.Events[e] = c.Events[e] || hit }

// Event is something that a schedule may or may not bring about.
type Event int

// The events.
const (
	LaneFull           Event = iota // a lane had no room for a flush
	ExclusiveHere                   // a task worked on a slab itself
	ExclusiveCopy                   // a task worked on a copy
	SharedLease                     // a task leased a partition to read it
	SeveralUnits                    // a flush carried tasks of several splits
	KeptImage                       // the driver kept the tables
	StalenessTurned                 // the driver changed a table's staleness
	WaitNamed                       // a wait was long enough to be named
	StrangerRefused                 // a push of an older generation was refused
	TornRefused                     // a partition whose exclusive holder died was refused
	DeathTold                       // the controller was told of a crash before the silence told it
	NodeNamed                       // the controller named who is silent, not ready, or keeps the job from ending
	FlushNamed                      // a client named a lane that does not hold its part
	GaveUp                          // a node gave up on node 0
	Overtaken                       // what the controller says or hears overtook the rest
	PartsOvertaken                  // and came between the parts of a message
	PartsPassed                     // what other actors say did
	KeysSubscribed                  // a client subscribed to keys
	KeysRelayed                     // and was sent some that had changed
	KeysGivenUp                     // and wanted no more of them
	AnsweredEarly                   // a task was answered before it had given its slot away
	SessionResumed                  // a connection was made again, and the session went on behind what had come
	ConnectedAgain                  // a connection was made again
	PushReplayed                    // a lane got a part again that it had
	SlotCompared                    // a rule's memory was held against the model
	LossyAudit                      // a job that had lost a node accounted for what it applied
	FarAhead                        // a split had more than 64 clocks dispatched and not committed
	Prefetched                      // a task asked for rows ahead
	Narrowed                        // values travelled in 16 bits
	Endless                         // a task did not end by itself
	CommitsSplit                    // commitments went into several messages for their number
	RelaySplit                      // rows that came unasked did, for their size
	RecordsFull                     // so many records waited for their clock as may
	TasksNamed                      // the controller named a task that does not end
	NewerForged                     // somebody named a generation that is not there yet
	Resumed                         // a job went on from its image after an interruption
	PastLifeReplayed                // and was sent a push of the life before
	LossInjected                    // a message between a client and a lane was lost
	LossFound                       // and the job ended for it
	NeverReady                      // a node was waited for until the job was given up
	CulpritNamed                    // node 0 named a task that did not go on, though it was not the first of its node
	OldTermSent                     // an actor was told something by a controller of an earlier term
	CheckerRefused                  // what an invader said did not pass the checker
	BreachNamed                     // or did, and an actor called it a breach
	WordSlots                       // the memory of the rule of words was held against the model
	SlowClosing                     // executors took their time to close when the job was over
	DamageRefused                   // a partition was not restored from an image that had been damaged
	LaneAdded                       // a lane began while the job ran
	ClientAdded                     // a client did
	SplitMoved                      // a split went to another node
	Followed                        // another controller followed
	FollowedSaved                   // from a state that was saved, behind which lanes had let records go
	FollowedBroken                  // one whose last words had not all left
	FollowedProcess                 // one whose process was lost with it
	CaughtUp                        // a lane had fewer records than others
	HeldCommitted                   // flushes were numbered that lanes held
	OldTermRefused                  // a lane refused a record of the controller before
	TailCut                         // lanes had no memory for the records that were needed
	SeveralConnections              // messages took another connection than the first
	BrokenBeside                    // a connection was made again while another between the same nodes stood
	EndedApart                      // a connection ended in peace before another between the same nodes
	TasksLeft                       // a node left, since its tasks did not return when the job was over
	ModelLeft                       // the model was lost with such tasks, and with nothing else
	FollowedRoute                   // another controller followed when the route had changed
	FollowedEnding                  // another controller followed when the job was over
	RouteUnmade                     // there was no record of a change of the route when another controller followed
	UnitsApart                      // units of one clock of a split were in different flushes
	UnitsTogether                   // and in one
	BegunMidClock                   // a lane began when some of a clock's units counted, and not all
	SavedMidClock                   // a controller was followed from a state that was saved then
	LaneRemoved                     // a lane was told to leave
	ClientRemoved                   // a client was
	NodeLeft                        // a node was let go of which the job had nothing any more
	GivenBack                       // a client gave units back that it had not begun, since their split moves
	EndedAdded                      // a lane was told the end whose controller had not heard of it when the job failed
	WorkerLost                      // a node that only ran tasks was lost, and the job went on
	LostWithUnits                   // and units of it were run again
	LostWoke                        // and it said something afterwards
	Events
)

var names = [Events]string{"lane full", "exclusive lease in place", "exclusive lease on a copy", "shared lease",
	"flush of several splits", "tables kept",
	"staleness changed", "wait named", "stranger refused", "torn partition refused",
	"death told", "node named", "flush named", "node 0 given up", "controller first", "controller between parts", "others between parts",
	"keys subscribed to", "keys sent unasked", "keys given up", "answered early", "session resumed", "connected again", "push again", "slots compared", "audit after a loss", "far ahead", "rows asked for ahead", "values of 16 bits",
	"task without end", "commitments split", "rows unasked split", "records full", "task named", "newer generation", "resumed",
	"push of the life before", "message lost", "loss found", "never ready", "culprit named", "earlier term", "refused by a checker", "called a breach",
	"slots of words compared", "closing takes time", "damaged image refused", "lane added", "client added", "split moved",
	"controller followed", "followed from a save", "followed in mid-word", "followed by a process", "lane caught up", "held flush numbered", "old term refused", "tail cut off",
	"several connections", "broken beside another", "ended before another", "tasks left", "model left with tasks",
	"changed route followed", "ending followed", "change unmade", "units apart", "units together", "lane begun in mid-clock", "saved in mid-clock", "lane removed", "client removed", "node let go",
	"units given back", "added lane told the end", "worker lost", "lost with units", "lost and spoke"}

func (e Event) String() string { return names[e] }

// OfLease is the event of a lease.
func OfLease(m wire.Mode, from, to wire.Address) Event {
	switch {
	case m == wire.Shared:
		return SharedLease
	case from.Node == to.Node:
		return ExclusiveHere
	}
	return ExclusiveCopy
}

// OfWords is what a message says of subscriptions to a table of keys.
func OfWords(m wire.Message, words bellows.TableID) (Event, bool) {
	switch m := m.(type) {
	case *wire.Pull:
		return KeysSubscribed, slices.ContainsFunc(m.Parts, func(p wire.PullPart) bool { return p.Subscribe && p.Keys != nil })
	case *wire.Rows:
		return KeysRelayed, slices.ContainsFunc(m.Parts, func(p wire.RowsPart) bool { return len(p.Keys) > 0 })
	case *wire.Unsubscribe:
		return KeysGivenUp, m.Ref.Table == words
	}
	return 0, false
}

// InSixteen reports whether values of a message came in 16 bits.
func InSixteen(m wire.Message) bool {
	switch m := m.(type) {
	case *wire.Push:
		return len(m.Narrowed()) > 0
	case *wire.Rows:
		return len(m.Narrowed()) > 0
	}
	return false
}
