package visiting

// Coverage is what one schedule has brought about.
type Coverage struct{ Events [Events]bool }

// Hit takes note of an event.
func (c *Coverage) Hit(e Event) { c.Events[e] = true }

// HitIf takes note of an event where it has come about.
func (c *Coverage) HitIf(e Event, hit bool) { c.Events[e] = c.Events[e] || hit }

// Refuse takes note of a guest that is turned away.
func (c *Coverage) Refuse(f Fate, ready, died, ending bool) {
	c.Hit(Refused)
	c.HitIf(NotWanted, f == Unwanted)
	c.HitIf(OtherJob, ready && f == Stranger)
	c.HitIf(Died, died)
	c.HitIf(AtEnd, ending)
}

// Event is something about guests that a schedule may or may not bring about.
type Event int

// The events.
const (
	Joined     Event = iota // a node joined while the job ran
	Beside                  // and another one beside it
	Runs                    // a split went to a node that had joined
	Serves                  // a partition did
	Refused                 // a node that was to join was turned away:
	NotWanted               // nobody wanted it any more
	OtherJob                // it had made another job
	Died                    // it died
	AtEnd                   // the job was over
	Together                // a node was asked for while another was on its way,
	Crowded                 // while two or more were
	Waits                   // it had started, and it was not its turn yet
	Left                    // a node that had joined was let go
	Followed                // another controller followed while a node was on its way
	Unrecorded              // or when there was no record yet of one that was told that it takes part
	CallBroken              // a connection broke before whoever called knew that it was there
	Events
)

var names = [Events]string{"guest joined", "guest beside another", "guest runs a split", "guest serves", "guest refused", "guest unwanted", "guest of another job", "guest died",
	"guest at the end", "two guests", "three guests", "guest waits for its turn", "guest left", "guest followed", "guest unrecorded", "call broken"}

func (e Event) String() string { return names[e] }
