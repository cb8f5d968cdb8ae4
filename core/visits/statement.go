package visits

import (
	"errors"
	"fmt"
	"slices"

	"bellows"
)

// Statement is what a job states about its clocks: the first ones, which belong to no epoch, and then the same number
// for each epoch. A void epoch, which is run again, counts as an epoch.
type Statement struct {
	Splits  int
	Opens   int       // clocks before the first epoch
	Clocks  int       // of an epoch, with those that visit nothing
	Opening []Passage // of the clocks before the first epoch, split by split
	Epoch   []Passage // of the clocks of an epoch, counted from 0, split by split
}

// Cycler is a driver that states how many clocks come before the first epoch, and how many make an epoch.
type Cycler interface{ Cycle() (opens, clocks int) }

// State returns the statement of a job by its items. It returns an error if the first two epochs do not have the same
// items.
func State(splits, opens, clocks int, items func(bellows.SplitID, bellows.Clock) bellows.Range) (*Statement, error) {
	if clocks < 1 || opens < 0 {
		return nil, errors.New("its driver does not say which clocks make an epoch")
	}
	s := &Statement{Splits: splits, Opens: opens, Clocks: clocks}
	for split := range splits {
		id := bellows.SplitID(split)
		s.Opening = appendClocks(s.Opening, id, 0, opens, items)
		from := len(s.Epoch)
		s.Epoch = appendClocks(s.Epoch, id, opens, clocks, items)
		if again := appendClocks(nil, id, opens+clocks, clocks, items); !slices.Equal(again, s.Epoch[from:]) {
			return nil, fmt.Errorf("split %d visits other items in the second epoch than in the first", split)
		}
	}
	return s, nil
}

// appendClocks appends the passages of a split in n clocks from one on, which are counted from 0.
func appendClocks(list []Passage, s bellows.SplitID, from, n int, items func(bellows.SplitID, bellows.Clock) bellows.Range) []Passage {
	first := len(list)
	for c := range n {
		u := bellows.Unit{Split: s, Clock: bellows.Clock(c), Items: items(s, bellows.Clock(from+c))}
		if len(list) == first || !list[len(list)-1].add(u) {
			list = append(list, passageOf(u))
		}
	}
	return list
}

// stated is a checked statement, by split. A statement that was read from somewhere may be invalid.
type stated struct {
	*Statement
	opening, epoch [][]Passage // by split
}

// check refuses an invalid statement: clocks of a split that do not follow each other, and passes with gaps.
func check(s *Statement) (stated, error) {
	d := stated{Statement: s}
	if s.Splits < 1 || s.Splits > 1<<20 || s.Clocks < 1 || s.Opens < 0 {
		return d, fmt.Errorf("%d splits, %d clocks before the first epoch and %d in each are no job", s.Splits, s.Opens, s.Clocks)
	}
	var err error
	if d.opening, err = deal(s.Opening, s.Splits, s.Opens); err == nil {
		d.epoch, err = deal(s.Epoch, s.Splits, s.Clocks)
	}
	return d, err
}

// deal returns a list by splits.
func deal(list []Passage, splits, clocks int) ([][]Passage, error) {
	by := make([][]Passage, splits)
	for len(list) > 0 {
		s := list[0].Split
		n := slices.IndexFunc(list, func(o Passage) bool { return o.Split != s })
		if n < 0 {
			n = len(list)
		}
		if int(s) >= splits || by[s] != nil {
			return nil, fmt.Errorf("split %d has two lists, or is none of %d", s, splits)
		}
		if err := passes(list[:n], clocks); err != nil {
			return nil, err
		}
		by[s], list = list[:n], list[n:]
	}
	for s := range by {
		if by[s] == nil && clocks > 0 {
			return nil, fmt.Errorf("nothing is stated of split %d", s)
		}
	}
	return by, nil
}

// passes refuses passages of one split that do not have each clock, or whose items are no passes. A pass is a run of
// passages that share no item and leave none out between the first and the last. A passage that shares one begins the
// next pass.
func passes(list []Passage, clocks int) error {
	next := bellows.Clock(0)
	var pass []bellows.Range
	for i := range list {
		r := &list[i]
		if r.First != next || r.Last < r.First || r.Items.Len() < 0 || r.Items.Begin < 0 {
			return fmt.Errorf("what is stated of split %d in clock %d is not what follows clock %d", r.Split, r.First, next-1)
		}
		next = r.Last + 1
		for left := r.Items; left.Len() > 0; {
			part := left
			for _, o := range pass {
				if o.Overlaps(left) {
					part.End = min(part.End, max(o.Begin, left.Begin))
				}
			}
			if part.Len() == 0 {
				if err := whole(pass, r.Split); err != nil {
					return err
				}
				pass = pass[:0]
				continue
			}
			pass, left.Begin = append(pass, part), part.End
		}
	}
	if int(next) != clocks {
		return fmt.Errorf("of split %d %d clocks are stated, of %d", list[0].Split, next, clocks)
	}
	return whole(pass, list[0].Split)
}

// whole refuses a pass that leaves items out. A pass begins with item 0 (app.Run); else it could not be known that
// none was left out before its first item.
func whole(pass []bellows.Range, s bellows.SplitID) error {
	slices.SortFunc(pass, func(a, b bellows.Range) int { return a.Begin - b.Begin })
	end := 0
	for _, r := range pass {
		if r.Begin != end {
			return fmt.Errorf("the clocks of split %d leave out its items %v", s, bellows.Range{Begin: end, End: r.Begin})
		}
		end = r.End
	}
	return nil
}
