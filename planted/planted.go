// Package planted names the protocol bugs that can be planted to show that the simulation finds
// them (promises, "Mutation score"). In an ordinary build On is constantly false and costs nothing;
// with the build tag "planted" a test turns one bug on at a time.
//
// A planted bug is one condition in the code that it breaks, and nothing more.
package planted

// Bug names one planted bug.
type Bug uint8

// The bugs, each by the line that it breaks.
const (
	None                Bug = iota
	DuplicateDelivered      // session: a message that came before is delivered again
	GapSkipped              // session: a message is delivered although one before it is missing
	NoResend                // session: an unacknowledged message is never sent again
	DoneAfterFirst          // client: done is sent when the first server holds its part, not all
	StaleCache              // client: a cached block is served without a look at its version
	OwnUpdatesForgotten     // client: reads do not see the split's own deltas
	OwnUpdatesTwice         // client: own deltas are laid over rows that contain them
	StalenessPlusOne        // gate: the bound is one clock too loose
	VersionIgnored          // gate: a read does not wait for the commits known at its dispatch
	OverlapAccepted         // gate: a unit that overlaps a committed one is accepted
	GenerationUnchecked     // server: a part for another generation is accepted
	AppliedWhenHeld         // server: a part is applied when it is held, before its commit
	VisibleWhenRecorded     // server: BSP deltas become visible commit by commit
	HeldAppliedAtEnd        // server: what is held and not recorded is applied at the end
	CommitOverstated        // server: replies claim one commit more than was applied
	LeaseShared             // server: an exclusive lease is granted beside another
	SumByArrival            // server: deltas are summed in order of arrival, not along the tree
	PushTwice               // server: a part of a flush that came before is held again
	CapWithoutFloor         // server: above the cap even the lowest flush is refused
	RoomForgotten           // server: a flush that found no room is never asked to come again
	CommitUnderLease        // server: a recorded flush is applied although a lease keeps it out
	ReadUnderLease          // server: a read is served while an exclusive lease is out
	CopyForgotten           // server: what an exclusive holder sends back is not copied
	KeepAtOnce              // server: an image is kept without what a lease keeps out
	LeasedOutDropped        // server: what a lease keeps out at the job's end is dropped
	FullUncounted           // server: what found no room is not accounted for at the job's end
	NumberWhenVisible       // server: a client learns its flush's number only when all of it is visible
	JoinAcrossOwn           // client: cached rows are joined although an own update lies between
	LaterClockShared        // client: a read waits for another's question about a later clock
	OwnCommitForgotten      // client: a read need not see the split's own commits
	FailureIgnored          // client: tasks begin after another has failed
	CousinsMerged           // client: subtrees that are not siblings are merged
	SilenceIgnored          // coord: a client's lease never runs out
	OldDoneAccepted         // coord: a done that names an older generation is accepted
	DispatchBlind           // coord: tasks need not see what was committed when they were dispatched
	GoneNotTold             // coord: a client declared gone is not told the end
	DonePassedUnheld        // server: the done of a flush is passed on before the flush is held
	relayForgotten
	relayWithoutRows
	subscribedToLess
	unionForgotten
	dueForgotten
	gaveUpAsking
	AckEarly           // session: an envelope is acknowledged before it has come
	SleeperBlames      // lease: a node that slept blames the others for it
	ReadyByCount       // coord: nodes that are ready are counted by their messages
	RumourIgnored      // coord: a connection that broke does not end the job
	EndingUnwatched    // coord: who falls silent while the job ends is waited for
	DoneAfterEnd       // coord: a done that comes after the end is recorded
	GoneAwaited        // coord: lanes are not told who cannot pass the end on
	KeepBeforeRecords  // coord: lanes keep the tables before they have the last records
	QueueForgotten     // coord: tasks that an interruption left in the queue are not dispatched again
	StalenessForgotten // coord: a changed staleness does not survive an interruption
	ClockMarkLost      // server: a clock that completes under a lease never becomes visible
	ResumedAtZero      // server: a lane that resumes does not know which clocks are complete
	slotsNotSaved
	EndNotPassedOn // client: lanes are not told that nothing more comes
	SilentAfterEnd // client: no sign of life is given while the job ends
	reservedSaved
	untouchedZero
	partsForgotten
	Bugs // the number of bugs, None included
)

// names say each bug as reports do, in the order above.
var names = [Bugs]string{
	"none",
	"duplicate-delivered",
	"gap-skipped",
	"no-resend",
	"done-after-first",
	"stale-cache",
	"own-updates-forgotten",
	"own-updates-twice",
	"staleness-plus-one",
	"version-ignored",
	"overlap-accepted",
	"generation-unchecked",
	"applied-when-held",
	"visible-when-recorded",
	"held-applied-at-end",
	"commit-overstated",
	"lease-shared",
	"sum-by-arrival",
	"push-twice",
	"cap-without-floor",
	"room-forgotten",
	"commit-under-lease",
	"read-under-lease",
	"copy-forgotten",
	"keep-at-once",
	"leased-out-dropped",
	"full-uncounted",
	"number-when-visible",
	"join-across-own",
	"later-clock-shared",
	"own-commit-forgotten",
	"failure-ignored",
	"cousins-merged",
	"silence-ignored",
	"old-done-accepted",
	"dispatch-blind",
	"gone-not-told",
	"done-passed-unheld",
	"relay-forgotten",
	"relay-without-rows",
	"subscribed-to-less",
	"union-forgotten",
	"due-forgotten",
	"gave-up-asking",
	"ack-early",
	"sleeper-blames",
	"ready-by-count",
	"rumour-ignored",
	"ending-unwatched",
	"done-after-end",
	"gone-awaited",
	"keep-before-records",
	"queue-forgotten",
	"staleness-forgotten",
	"clock-mark-lost",
	"resumed-at-zero",
	"slots-not-saved",
	"end-not-passed-on",
	"silent-after-end",
	"reserved-saved",
	"untouched-zero",
	"parts-forgotten",
}

// Relay has the bugs of subscriptions.
var Relay = struct {
	Forgotten        Bug // server: subscribers are not sent what a clock has changed
	WithoutRows      Bug // server: subscribers are told a newer version without the rows
	SubscribedToLess Bug // client: rows that nobody subscribed to are joined with those of a new subscription
	UnionForgotten   Bug // server: keys that a client subscribes to later are not watched
	DueForgotten     Bug // server: what is to be sent is forgotten when keys are added to a subscription
	GaveUpAsking     Bug // client: a subscription is given up while a question adds to it
}{relayForgotten, relayWithoutRows, subscribedToLess, unionForgotten, dueForgotten, gaveUpAsking}

// Wire has the bugs of package wire.
var Wire = struct {
	PartsForgotten Bug // a word of the controller between the parts of a message ends what has come of that
}{partsForgotten}

// Store has the bugs of package store.
var Store = struct {
	SlotsNotSaved Bug // an image lacks the memory of the rule
	ReservedSaved Bug // an image has rows of keys whose updates never committed
	UntouchedZero Bug // a key that no update has touched reads as zeros, not as its start
}{slotsNotSaved, reservedSaved, untouchedZero}

func (b Bug) String() string { return names[b] }
