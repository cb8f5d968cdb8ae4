package event

import (
	"fmt"
	"math"

	"bellows"
	"bellows/core/visits"
	"bellows/figures"
	"bellows/train"
)

// Passage is a visits.Passage: split, first clock, last clock, first item, and the item after the last.
type Passage [5]int

// Statement is what the job says of its clocks, in this life of the run.
type Statement struct {
	SplitCount    int       `json:"split_count"`
	OpeningClocks int       `json:"opening_clocks"` // before the first epoch
	EpochClocks   int       `json:"epoch_clocks"`   // of each epoch
	Opening       []Passage `json:"opening"`
	EpochVisits   []Passage `json:"epoch_visits"` // clocks counted from the epoch's first
	// Complete is the last clock of each split that counts from before the run resumed.
	Complete []bellows.Clock `json:"complete,omitempty"`
	Open     []Passage       `json:"open,omitempty"`     // units of the next clocks that count from before
	Unstated string          `json:"unstated,omitempty"` // why nothing is stated
}

// Visits is what counts by records of the controller's that follow each other.
type Visits struct {
	Records [2]uint64 `json:"records"` // the first and the last
	Visited int64     `json:"visited"` // items
	Visits  []Passage `json:"visits"`
	Stop    bool      `json:"stop,omitempty"` // the run may resume after it: a checkpoint is taken there
}

// OfJob returns the event of what a job says of its clocks. driver is the application's, and from what the job goes
// on from; nil: it begins.
func OfJob(job *train.Job, driver train.Driver, from train.Saved) Event {
	opens, clocks := 0, 0
	if c, ok := driver.(visits.Cycler); ok {
		opens, clocks = c.Cycle()
	}
	s, err := visits.State(job.Splits, opens, clocks, job.Items)
	if err != nil {
		return Unstated(job, err.Error())
	}
	told := &Statement{SplitCount: s.Splits, OpeningClocks: s.Opens, EpochClocks: s.Clocks, Opening: passagees(s.Opening), EpochVisits: passagees(s.Epoch)}
	if from != nil {
		state := from.Controller()
		told.Complete, told.Open = state.Complete, unitPassages(state.Open)
	}
	return Event{Kind: Stated, Statement: told, Sentence: fmt.Sprintf("an epoch visits %s items of %s once, in %s",
		figures.Grouped(visits.Items(s.Epoch)), figures.Plural(s.Splits, "split"), figures.Plural(s.Clocks, "clock"))}
}

// Unstated returns the event of a job without a statement, and why.
func Unstated(job *train.Job, why string) Event {
	return Event{Kind: Stated, Statement: &Statement{SplitCount: job.Splits, Opening: []Passage{}, EpochVisits: []Passage{}, Unstated: why},
		Sentence: "the log does not state how often each item is visited: " + why}
}

// Again returns a statement of a job that starts over, though what came before may have counted.
func Again(e Event) Event {
	if s := e.Statement; s.Unstated == "" {
		s.Complete, s.Open = make([]bellows.Clock, s.SplitCount), nil
		for i := range s.Complete {
			s.Complete[i] = bellows.NoClock
		}
	}
	return e
}

// OfVisits returns the event of what counts.
func OfVisits(b visits.Batch) Event {
	n := visits.Items(b.List)
	return Event{Kind: Visited, Visits: &Visits{Records: [2]uint64{uint64(b.First), uint64(b.Last)}, Visited: n, Visits: passagees(b.List), Stop: b.Stop},
		Sentence: fmt.Sprintf("%s items of %s count, by records %d to %d", figures.Grouped(n), figures.Plural(visits.Splits(b.List), "split"), b.First, b.Last)}
}

func passagees(list []visits.Passage) []Passage {
	out := make([]Passage, len(list))
	for i, s := range list {
		out[i] = Passage{int(s.Split), int(s.First), int(s.Last), s.Items.Begin, s.Items.End}
	}
	return out
}

// unitPassages returns a passage for each unit, and nil for none.
func unitPassages(list []bellows.Unit) (out []Passage) {
	for _, u := range list {
		out = append(out, Passage{int(u.Split), int(u.Clock), int(u.Clock), u.Items.Begin, u.Items.End})
	}
	return out
}

// Units returns the units of Open. One with numbers that nothing can have is an error.
func (s *Statement) Units() (list []bellows.Unit, err error) {
	open, err := read(s.Open)
	for _, p := range open {
		list = append(list, bellows.Unit{Split: p.Split, Clock: p.First, Items: p.Items})
	}
	return list, err
}

// Statement returns the statement itself. One with numbers that nothing can have is an error.
func (s *Statement) Statement() (*visits.Statement, error) {
	opening, err := read(s.Opening)
	if err != nil {
		return nil, err
	}
	epoch, err := read(s.EpochVisits)
	return &visits.Statement{Splits: s.SplitCount, Opens: s.OpeningClocks, Clocks: s.EpochClocks, Opening: opening, Epoch: epoch}, err
}

// Batch returns the batch itself. One with numbers that nothing can have, or other items than it says, is an error.
func (v *Visits) Batch() (visits.Batch, error) {
	list, err := read(v.Visits)
	b := visits.Batch{First: bellows.CommitNumber(v.Records[0]), Last: bellows.CommitNumber(v.Records[1]), List: list, Stop: v.Stop}
	if n := visits.Items(list); err == nil && n != v.Visited {
		err = fmt.Errorf("its visits are of %d items, and it says %d", n, v.Visited)
	}
	return b, err
}

func read(list []Passage) ([]visits.Passage, error) {
	out := make([]visits.Passage, len(list))
	for i, s := range list {
		for k, x := range s {
			if x < 0 || k < 3 && x > math.MaxInt32 {
				return nil, fmt.Errorf("%v is no passage: split, first clock, last clock, first item, item after the last", s)
			}
		}
		out[i] = visits.Passage{Split: bellows.SplitID(s[0]), First: bellows.Clock(s[1]), Last: bellows.Clock(s[2]), Items: bellows.Range{Begin: s[3], End: s[4]}}
	}
	return out, nil
}
