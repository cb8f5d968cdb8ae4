// Package moving is what a schedule has brought about while partitions moved: which events of a move came about, and which messages came at which of its steps.
//
// Tell a Coverage of an event with Hit or HitIf where it comes about, and of a message with While. It says nothing of statements: that is sim/cover.
package moving

// Step is how far the move of a partition is.
type Step int

// The steps.
const (
	Offered  Step = iota // its owner has been told
	Copied               // rows are on their way
	Prepared             // its owner is ready
	Recorded             // it has its record, and not all of it has come
	Steps
)

func (p Step) String() string { return [...]string{"offered", "copied", "ready", "recorded"}[p] }

// Kinds is above the numbers of the kinds of messages.
const Kinds = 1 << 7

// Coverage is what one schedule has brought about.
type Coverage struct {
	Events [Events]bool
	Came   [Steps][Kinds]bool // messages, while a move was so far
}

// Hit takes note of an event.
func (c *Coverage) Hit(e Event) { c.Events[e] = true }

// HitIf takes note of an event where it has come about.
func (c *Coverage) HitIf(e Event, hit bool) { c.Events[e] = c.Events[e] || hit }

// While takes note of a message of a kind that comes while a move is so far.
func (c *Coverage) While(s Step, kind uint8) {
	if s >= 0 && int(kind) < Kinds {
		c.Came[s][kind] = true
	}
}

// Event is something about a move that a schedule may or may not bring about.
type Event int

// The events. The first are of something that befell a move, by its step.
const (
	Meddled            = Event(0)                // with a move that was offered; the others follow, step by step
	SentAgain    Event = iota + Event(Steps) - 1 // a client pushed parts of a flush again, elsewhere
	RowsCopied                                   // rows of a partition were copied
	ImageCopied                                  // and of the image that the driver has kept
	ChangePassed                                 // a change of a partition was passed on to the lane that was to own it
	BehindLease                                  // it was leased meanwhile, and went behind that
	Moved                                        // a partition went to another lane
	MovedKeys                                    // one of rows with keys
	MovedBack                                    // one that had moved before
	AtRecord                                     // all of it was there before the record
	AtLast                                       // the record was there before all of it
	GivenUp                                      // its owner gave a move up, since too much changed
	Followed                                     // another controller followed in the midst of a move
	Ended                                        // the job ended in the midst of a move
	Events
)

var names = [Events]string{"offered move meddled with", "copied move meddled with", "ready move meddled with", "recorded move meddled with",
	"parts sent again", "rows copied", "image copied", "change passed on", "moved behind a lease", "partition moved", "keys moved", "moved once more",
	"adopted at the record", "adopted at the last piece", "move given up", "move followed", "move ended"}

func (e Event) String() string { return names[e] }
