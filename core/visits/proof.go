package visits

import (
	"fmt"
	"slices"

	"bellows"
)

// Proof goes through what counted, and refuses the first passage that is not as the job states.
//
// Each split has a cursor: its place in the stated passages. A passage that counted must begin at the cursor. If it
// begins later, something is missing; if earlier, something was visited again. Fault says which, for which split and
// clock.
//
// Invariant: what the cursors have passed is what the statement says, epoch by epoch and item by item, once, and
// includes each clock once (TestTamperedVisitsAreFound). A passage does not say where one of its clocks ends and the
// next begins. So the proof is of epochs and items; it does not show which of two consecutive clocks visited an item.
type Proof struct {
	say     stated
	cursors []cursor
	commit  bellows.CommitNumber // the last record of this attempt
	visited int64                // items, by what counts
	void    int64                // items that had counted and were given up: the job resumed from an earlier stop
	lives   int
	stops   []stop // where the job can resume, the newest last; the first is its beginning
}

// stop is where a job stopped.
type stop struct {
	cursors []cursor
	visited int64
}

// cursor is how far a split has come.
type cursor struct {
	epoch int           // that it is in, from 0; -1: before the first
	at    int           // the passage that it is in, or has just left
	last  bellows.Clock // the last clock for which something counted
	item  int           // of the passage, where the next item is expected
}

// Fault says what is wrong with a split in a clock.
type Fault struct {
	Kind  string // "again", "missing", "overlap" or "stranger"
	Split bellows.SplitID
	Clock bellows.Clock
	What  string
}

func (f *Fault) Error() string { return fmt.Sprintf("split %d clock %d: %s", f.Split, f.Clock, f.What) }

// The kinds of a Fault.
const (
	Again    = "again"    // a clock, or items of it, were visited a second time
	Missing  = "missing"  // were left out
	Overlap  = "overlap"  // a unit shares some of its items with one that counted, and has others
	Stranger = "stranger" // the statement does not have the split or the items
)

// stopsMost is the number of stops that are remembered. A job resumes from its last stop, or from an earlier one if
// the last could not be stored.
const stopsMost = 64

// NewProof begins with a statement. It returns an error if the statement is invalid or leaves items out.
func NewProof(s *Statement) (*Proof, error) {
	say, err := check(s)
	if err != nil {
		return nil, err
	}
	p := &Proof{say: say, cursors: make([]cursor, s.Splits), lives: 1}
	for i := range p.cursors {
		c := &p.cursors[i]
		*c = cursor{epoch: -1, at: -1, last: bellows.NoClock}
		p.next(c, bellows.SplitID(i))
	}
	p.Stop()
	return p, nil
}

// next moves a cursor to the next passage.
func (p *Proof) next(c *cursor, s bellows.SplitID) {
	if c.at++; c.epoch < 0 && c.at == len(p.say.opening[s]) || c.epoch >= 0 && c.at == len(p.say.epoch[s]) {
		c.epoch, c.at = c.epoch+1, 0
	}
	c.item = p.current(c, s).Items.Begin
}

// current returns the stated passage that a cursor is in, with the clocks of the job.
func (p *Proof) current(c *cursor, s bellows.SplitID) Passage {
	if c.epoch < 0 {
		return p.say.opening[s][c.at]
	}
	r := p.say.epoch[s][c.at]
	from := bellows.Clock(p.say.Opens + c.epoch*p.say.Clocks)
	r.First, r.Last = r.First+from, r.Last+from
	return r
}

// Take goes through a batch. It must begin at the record after the previous batch. A batch without visits also does.
func (p *Proof) Take(b Batch) error {
	if b.Stop && len(b.List) == 0 {
		p.Stop()
		return nil
	}
	if b.First != p.commit+1 || b.Last < b.First {
		return fmt.Errorf("what counted by records %d to %d is told behind record %d: something is left out, or told again", b.First, b.Last, p.commit)
	}
	p.commit = b.Last
	for i := range b.List {
		if err := p.take(b.List[i]); err != nil {
			return err
		}
		p.visited += int64(b.List[i].Items.Len())
	}
	if b.Stop {
		p.Stop()
	}
	return nil
}

// take goes through a passage. It may reach into several stated passages: the last clock of an epoch may visit
// nothing, and the items of the next epoch begin where those of this one ended.
func (p *Proof) take(v Passage) error {
	if int(v.Split) >= p.say.Splits || v.First < 0 || v.Last < v.First || v.Items.Begin < 0 || v.Items.Len() < 0 {
		return &Fault{Stranger, v.Split, v.First, fmt.Sprintf("the job has no clocks %d to %d with items %v", v.First, v.Last, v.Items)}
	}
	c := &p.cursors[v.Split]
	for {
		say := p.current(c, v.Split)
		if v.First > say.Last {
			if err := c.checkLeft(v.Split, say); err != nil {
				return err
			}
			p.next(c, v.Split)
			continue
		}
		switch inside := c.last >= say.First; {
		case v.First > c.last+1:
			return c.skipped(v.Split)
		case v.First < c.last, v.First == c.last && (!inside || v.Items.Len() == 0):
			return &Fault{Again, v.Split, v.First, fmt.Sprintf("it counts again, with items %v: clock %d had counted", v.Items, c.last)}
		}
		part := v
		switch { // the rest belongs to the next passage
		case v.Last <= say.Last:
		case say.Items.Len() == 0:
			part.Items.End = v.Items.Begin
		case v.Items.Begin < say.Items.End:
			part.Items.End = min(v.Items.End, say.Items.End)
		}
		if part.Items.Len() > 0 {
			if err := c.visit(part, say.Items); err != nil {
				return err
			}
			v.Items.Begin = part.Items.End
		}
		if c.last = min(v.Last, say.Last); c.last == v.Last {
			return nil
		}
		v.First = say.Last + 1
	}
}

// visit moves a cursor past items.
func (c *cursor) visit(v Passage, say bellows.Range) error {
	switch {
	case v.Items.Begin > c.item:
		return &Fault{Missing, v.Split, v.First, fmt.Sprintf("items %v were not visited", bellows.Range{Begin: c.item, End: min(v.Items.Begin, max(c.item, say.End))})}
	case v.Items.End <= c.item && v.Items.Begin < c.item:
		return &Fault{Again, v.Split, v.First, fmt.Sprintf("items %v are visited again", v.Items)}
	case v.Items.Begin < c.item:
		return &Fault{Overlap, v.Split, v.First, fmt.Sprintf("items %v overlap those up to %d, which had counted", v.Items, c.item)}
	case v.Items.End > say.End:
		return &Fault{Stranger, v.Split, v.Last, fmt.Sprintf("items %v are visited, and %v are stated", v.Items, say)}
	}
	c.item = v.Items.End
	return nil
}

// checkLeft refuses to leave a stated passage if a unit of it has not counted.
func (c *cursor) checkLeft(s bellows.SplitID, say Passage) error {
	if c.last < say.Last {
		return c.skipped(s)
	}
	if c.item < say.Items.End {
		return &Fault{Missing, s, c.last, fmt.Sprintf("items %v were not visited up to its end", bellows.Range{Begin: c.item, End: say.Items.End})}
	}
	return nil
}

func (c *cursor) skipped(s bellows.SplitID) error {
	return &Fault{Missing, s, c.last + 1, "it has not counted, and a later clock has, or the epoch is over"}
}

// epochs returns how many epochs a split has completed, and whether it is between two.
func (p *Proof) epochs(s bellows.SplitID) (n int, between bool) {
	c := &p.cursors[s]
	say := p.current(c, s)
	end := bellows.Clock(p.say.Opens + (c.epoch+1)*p.say.Clocks - 1)
	switch {
	case c.last == end && c.item == say.Items.End:
		return c.epoch + 1, true
	case c.last < say.First && c.at == 0 && c.epoch >= 0:
		return c.epoch, true
	}
	return max(c.epoch, 0), false
}

// EpochsOver notes that number epochs are over. It returns an error if something of them has not counted.
func (p *Proof) EpochsOver(number int) error {
	first, _ := p.epochs(0)
	for i := range p.cursors {
		s, c := bellows.SplitID(i), &p.cursors[i]
		n, between := p.epochs(s)
		if say := p.current(c, s); !between {
			if err := c.checkLeft(s, say); err != nil {
				return err
			}
			return c.skipped(s)
		}
		if n < max(number, first) {
			return c.skipped(s)
		}
		if n > first {
			return &Fault{Missing, 0, p.cursors[0].last + 1, fmt.Sprintf("it has not counted, and split %d has begun another epoch", s)}
		}
	}
	return nil
}

// Stop notes that the job has stopped at a point from which it may resume.
func (p *Proof) Stop() {
	if len(p.stops) == stopsMost {
		p.stops = slices.Delete(p.stops, 1, 2)
	}
	p.stops = append(p.stops, stop{slices.Clone(p.cursors), p.visited})
}

// Resume notes that the job resumes after a clock of each split, and after the units that count of the next clocks, in
// their order. It must have stopped there: it reported that, or it was killed there. Visits since then are void.
func (p *Proof) Resume(complete []bellows.Clock, open []bellows.Unit) error {
	if len(complete) != len(p.cursors) {
		return fmt.Errorf("the job goes on with %d splits, and had %d", len(complete), len(p.cursors))
	}
	p.Stop() // if it was killed
	var fault error
	for i := len(p.stops) - 1; i >= 0; i-- {
		if f := p.stops[i].other(complete, open); f != nil {
			if fault == nil {
				fault = f
			}
			continue
		}
		p.void += p.visited - p.stops[i].visited
		p.cursors, p.visited = slices.Clone(p.stops[i].cursors), p.stops[i].visited
		p.stops = p.stops[:i+1]
		p.commit = 0
		p.lives++
		return nil
	}
	return fault
}

// other returns a fault for the first split that had come to another clock or unit, or nil.
func (o *stop) other(complete []bellows.Clock, open []bellows.Unit) error {
	for i := range o.cursors {
		c, s := &o.cursors[i], bellows.SplitID(i)
		last, item := complete[i], c.item
		for _, u := range open {
			if u.Split == s {
				last, item = complete[i]+1, u.Items.End
			}
		}
		switch {
		case c.last != last:
			return &Fault{Missing, s, last, fmt.Sprintf("the job goes on behind it, and clock %d was the last that counted", c.last)}
		case c.item != item:
			return &Fault{Missing, s, last, fmt.Sprintf("the job resumes after item %d of it, and item %d was the last that counted", item-1, c.item-1)}
		}
	}
	return nil
}

// Account is the result of a proof.
type Account struct {
	Splits  int
	Epochs  int   // completed by every split, void ones too
	Items   int64 // that an epoch visits
	Visited int64 // in all that counts
	Begun   int64 // of these, in an epoch that is not over
	Before  int64 // and before the first epoch
	Void    int64 // visited, and given up: the job resumed from an earlier stop
	Lives   int   // how many times it began or resumed
}

// Account returns what has been proved so far: each item that an epoch visits was visited once in each of the epochs
// that are over, and at most once since.
func (p *Proof) Account() Account {
	a := Account{Splits: p.say.Splits, Items: Items(p.say.Epoch), Visited: p.visited, Before: Items(p.say.Opening), Void: p.void, Lives: p.lives}
	for s := range p.cursors {
		n, _ := p.epochs(bellows.SplitID(s))
		if s == 0 || n < a.Epochs {
			a.Epochs = n
		}
	}
	a.Before = min(a.Before, a.Visited)
	a.Begun = max(0, a.Visited-a.Before-int64(a.Epochs)*a.Items)
	return a
}
