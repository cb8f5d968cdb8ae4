package visits

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/internal/require"
)

// job is a random job: splits whose epochs are one pass or two, in order or rotated, with clocks that visit nothing.
type job struct {
	splits, opens, clocks int
	cuts                  [][]int // by split: where its clocks cut its items
	turn                  []int   // by split: the part that its first clock visits
	twice                 bool    // the second half of the clocks visits all again
	openers               []int   // by split: the opening clocks from this one on visit all
}

func newJob(r *rand.Rand) *job {
	j := &job{splits: 1 + r.IntN(4), opens: r.IntN(3), clocks: 2 + r.IntN(6), twice: r.IntN(4) == 0}
	for range j.splits {
		parts := j.parts()
		n := r.IntN(20)
		cuts := []int{0}
		for range parts - 1 {
			cuts = append(cuts, r.IntN(n+1))
		}
		slices.Sort(cuts)
		j.cuts = append(j.cuts, append(cuts, n))
		j.turn = append(j.turn, r.IntN(parts)*r.IntN(2))
		j.openers = append(j.openers, r.IntN(j.opens+1))
	}
	return j
}

// parts returns into how many parts the items of a split are cut: the last clock of an epoch visits nothing.
func (j *job) parts() int {
	if j.twice {
		return max(1, (j.clocks-1)/2)
	}
	return j.clocks - 1
}

func (j *job) items(s bellows.SplitID, c bellows.Clock) bellows.Range {
	cuts := j.cuts[s]
	if int(c) < j.opens {
		if int(c) < j.openers[s] {
			return bellows.Range{}
		}
		return bellows.Range{End: cuts[len(cuts)-1]}
	}
	at := (int(c) - j.opens) % j.clocks
	if at >= j.parts() && !j.twice || at >= 2*j.parts() {
		return bellows.Range{}
	}
	at = (at + j.turn[s]) % j.parts()
	return bellows.Range{Begin: cuts[at], End: cuts[at+1]}
}

// units returns all units of so many epochs, clocks divided at random, and splits running ahead of each other within
// an epoch.
func (j *job) units(r *rand.Rand, epochs int) (list []bellows.Unit) {
	next := make([]bellows.Clock, j.splits)
	for end := j.opens; end <= j.opens+epochs*j.clocks; end += j.clocks {
		for slices.Min(next) < bellows.Clock(end) {
			s := r.IntN(j.splits)
			if next[s] == bellows.Clock(end) {
				continue
			}
			all := j.items(bellows.SplitID(s), next[s])
			n := 1 + r.IntN(max(1, min(3, all.Len())))
			for i := range n {
				list = append(list, bellows.Unit{Split: bellows.SplitID(s), Clock: next[s], Items: all.Part(i, n)})
			}
			next[s]++
		}
	}
	return list
}

// batches gathers units. Each flush has one unit or more.
func batches(r *rand.Rand, splits int, list []bellows.Unit) (all []Batch) {
	g := NewGatherer(splits)
	commit := bellows.CommitNumber(0)
	for _, u := range list {
		if commit == 0 || r.IntN(2) == 0 {
			if r.IntN(8) == 0 {
				if b, ok := g.Take(); ok {
					all = append(all, b)
				}
			}
			commit += 1 + bellows.CommitNumber(r.IntN(2)) // records of other kinds
		}
		g.Add(Visit{commit, u})
	}
	if b, ok := g.Take(); ok {
		all = append(all, b)
	}
	return all
}

// prove returns the proof of units.
func (j *job) prove(t *testing.T, r *rand.Rand, list []bellows.Unit, epochs int) (*Proof, error) {
	t.Helper()
	say, err := State(j.splits, j.opens, j.clocks, j.items)
	require.NoError(t, err)
	p, err := NewProof(say)
	require.NoError(t, err)
	for _, b := range batches(r, j.splits, list) {
		if err := p.Take(b); err != nil {
			return p, err
		}
	}
	return p, p.EpochsOver(epochs)
}

// TestABatchIsItsUnits compares passages with the units, item by item.
func TestABatchIsItsUnits(t *testing.T) {
	t.Parallel()
	type place struct {
		s    bellows.SplitID
		item int
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		j := newJob(r)
		list := j.units(r, 2)
		var want, got []place
		clocks := make([]bellows.Clock, j.splits)
		for _, u := range list {
			for i := u.Items.Begin; i < u.Items.End; i++ {
				want = append(want, place{u.Split, i})
			}
		}
		last := bellows.CommitNumber(0)
		for _, b := range batches(r, j.splits, list) {
			if b.First != last+1 {
				t.Fatalf("seed %d: a batch begins with record %d behind %d", seed, b.First, last)
			}
			last = b.Last
			for _, s := range b.List {
				for i := s.Items.Begin; i < s.Items.End; i++ {
					got = append(got, place{s.Split, i})
				}
				if s.First != clocks[s.Split] && s.First != clocks[s.Split]-1 {
					t.Fatalf("seed %d: %+v follows clock %d", seed, s, clocks[s.Split]-1)
				}
				clocks[s.Split] = s.Last + 1
			}
		}
		bySplit := func(a, b place) int { return int(a.s) - int(b.s) }
		slices.SortStableFunc(want, bySplit)
		slices.SortStableFunc(got, bySplit)
		if !slices.Equal(want, got) {
			t.Fatalf("seed %d: the batches visit %v, the units %v", seed, got, want)
		}
	}
}

// TestTrueLogsAreProved plays any job, any order of its splits and any batches.
func TestTrueLogsAreProved(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		j := newJob(r)
		p, err := j.prove(t, r, j.units(r, 3), 3)
		if err != nil {
			t.Fatalf("seed %d: %+v: %v", seed, j, err)
		}
		total := int64(0)
		for s := range j.splits {
			for c := range j.opens + 3*j.clocks {
				total += int64(j.items(bellows.SplitID(s), bellows.Clock(c)).Len())
			}
		}
		if a := p.Account(); a.Epochs != 3 || a.Visited != total || a.Begun != 0 || a.Before+3*a.Items != total {
			t.Fatalf("seed %d: %+v, and %d items were visited", seed, a, total)
		}
	}
}

// TestTamperedVisitsAreFound doubles, drops, cuts, swaps and renames units of true runs, and groups them otherwise. A
// proof may pass only if every clock of every split still visits what it should, once, and in order.
func TestTamperedVisitsAreFound(t *testing.T) {
	t.Parallel()
	kinds, moved, later := map[string]int{}, 0, 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 3))
		j := newJob(r)
		list := j.units(r, 2)
		at := r.IntN(len(list))
		was := list[at]
		split := was.Split
		switch seed % 7 {
		case 0: // a unit counts twice, at once or later
			list = slices.Insert(list, at+r.IntN(len(list)-at)+1, was)
		case 1:
			list = slices.Delete(list, at, at+1)
		case 2:
			list[at].Items.End++
		case 3:
			list[at].Items.Begin--
		case 4:
			list[at].Clock++
		case 5:
			list[at].Items.End--
		case 6:
			list[at].Split = bellows.SplitID(r.IntN(j.splits + 1))
			if int(list[at].Split) == j.splits || list[at] == was {
				continue // a gatherer is made for the splits of the job
			}
		}
		if list[min(at, len(list)-1)].Items.Len() < 0 {
			continue
		}
		p, err := j.prove(t, r, list, 2)
		if err == nil && seed%7 == 4 && list[at].Items.Len() > 0 {
			moved++ // to the clock that visits what follows: no item is visited more or less
			continue
		}
		if err == nil {
			t.Fatalf("seed %d: %v was altered by way %d, and is proved: %+v\n%v", seed, was, seed%7, p.Account(), list)
		}
		var f *Fault
		if !errors.As(err, &f) {
			t.Fatalf("seed %d: %v does not say where", seed, err)
		}
		kinds[f.Kind]++
		if seed%7 == 4 {
			later++
		}
		if seed%7 != 6 && f.Split != split {
			t.Errorf("seed %d: %v was altered, and %v is named", seed, was, f)
		}
		near := f.Clock >= was.Clock
		for c := was.Clock + 1; c < f.Clock; c++ { // clocks that visit nothing are of the passage before them
			near = near && j.items(split, c).Len() == 0
		}
		if seed%7 == 1 && !near || seed%7 == 0 && f.Clock != was.Clock {
			t.Errorf("seed %d: %v was altered by way %d, and %v is named", seed, was, seed%7, f)
		}
	}
	if moved == 0 || later < moved {
		t.Errorf("%d units of a later clock were found, and %d taken for those of that clock", later, moved)
	}
	for _, k := range []string{Again, Missing, Overlap, Stranger} {
		if kinds[k] == 0 {
			t.Errorf("no fault was of kind %s: %v", k, kinds)
		}
	}
}

// TestProofResumesWhereJobDid resumes where the job was interrupted, what counted since being void, and nowhere else.
func TestProofResumesWhereJobDid(t *testing.T) {
	t.Parallel()
	halves := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		j := newJob(r)
		list := j.units(r, 3)
		say, err := State(j.splits, j.opens, j.clocks, j.items)
		require.NoError(t, err)
		p, err := NewProof(say)
		require.NoError(t, err)
		take := func(p *Proof, list []bellows.Unit) error {
			for _, b := range batches(r, j.splits, list) {
				if err := p.Take(b); err != nil {
					return err
				}
			}
			return nil
		}
		stop := r.IntN(len(list))
		complete, open := slices.Repeat([]bellows.Clock{bellows.NoClock}, j.splits), []bellows.Unit(nil)
		for _, u := range list[:stop] {
			complete[u.Split] = u.Clock
		}
		for _, u := range list[stop:] { // a clock with a unit left is not complete
			if u.Clock == complete[u.Split] {
				complete[u.Split]--
			}
		}
		for _, u := range list[:stop] {
			if u.Clock > complete[u.Split] {
				open = append(open, u)
			}
		}
		halves += len(open)
		require.NoError(t, take(p, list[:stop]))
		p.Stop()
		void := 0
		if r.IntN(2) == 0 { // it resumes, and is lost
			if err := p.Resume(complete, open); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			void = r.IntN(len(list) - stop)
			require.NoError(t, take(p, list[stop:stop+void]))
		}
		if wrong := slices.Clone(complete); len(list)-stop-void > 0 {
			wrong[0] += 1 + bellows.Clock(len(list))
			if err := p.Resume(wrong, open); err == nil {
				t.Fatalf("seed %d: it goes on where it has not been", seed)
			}
			if other := slices.Clone(open); len(other) > 0 {
				other[len(other)-1].Items.End++
				if err := p.Resume(complete, other); err == nil {
					t.Fatalf("seed %d: it resumes after an item that does not count", seed)
				}
			}
		}
		if err := p.Resume(complete, open); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := take(p, list[stop:]); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := p.EpochsOver(3); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var want, lost int64
		for i, u := range list {
			want += int64(u.Items.Len())
			if i >= stop && i < stop+void {
				lost += int64(u.Items.Len())
			}
		}
		if a := p.Account(); a.Visited != want || a.Void != lost || a.Epochs != 3 {
			t.Fatalf("seed %d: %+v, and %d items were visited, %d in vain", seed, a, want, lost)
		}
	}
	if halves < 50 {
		t.Errorf("%d units count of clocks that are not complete", halves)
	}
}

// TestStatementsAreRefused states clocks that leave items out, unknown splits, and epochs that differ.
func TestStatementsAreRefused(t *testing.T) {
	t.Parallel()
	good := func() *Statement {
		return &Statement{Splits: 2, Clocks: 3, Epoch: []Passage{{0, 0, 0, bellows.Range{Begin: 5, End: 9}}, {0, 1, 2, bellows.Range{End: 5}}, {1, 0, 2, bellows.Range{End: 4}}}}
	}
	if _, err := NewProof(good()); err != nil {
		t.Fatal(err)
	}
	for name, alter := range map[string]func(*Statement){
		"a gap":            func(s *Statement) { s.Epoch[0].Items.Begin = 6 },
		"not from 0":       func(s *Statement) { s.Epoch[2].Items.Begin = 1 },
		"no clock 0":       func(s *Statement) { s.Epoch[0].First = 1 },
		"a clock too few":  func(s *Statement) { s.Epoch[2].Last = 1 },
		"a split too few":  func(s *Statement) { s.Epoch = s.Epoch[:2] },
		"a split too many": func(s *Statement) { s.Splits = 1 },
		"a split twice":    func(s *Statement) { s.Epoch = append(s.Epoch, s.Epoch[0]) },
		"backwards":        func(s *Statement) { s.Epoch[0].Items = bellows.Range{Begin: 9, End: 5} },
		"no clocks":        func(s *Statement) { s.Clocks = 0 },
		"no splits":        func(s *Statement) { s.Splits = 0 },
		"no opening":       func(s *Statement) { s.Opens = 1 },
	} {
		s := good()
		alter(s)
		if _, err := NewProof(s); err == nil {
			t.Errorf("%s: %+v is taken", name, s)
		}
	}
	grows := func(_ bellows.SplitID, c bellows.Clock) bellows.Range { return bellows.Range{End: int(c)} }
	if _, err := State(1, 0, 2, grows); err == nil {
		t.Error("epochs that differ are stated")
	}
	if _, err := State(1, 0, 0, grows); err == nil {
		t.Error("epochs of no clocks are stated")
	}
}

// TestRecordsFollowEachOther leaves out or repeats a batch, which is seen by the numbers of its records.
func TestRecordsFollowEachOther(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 5))
	j := &job{splits: 1, clocks: 2, cuts: [][]int{{0, 0}}, turn: []int{0}, openers: []int{0}}
	say, err := State(1, 0, 2, j.items)
	require.NoError(t, err)
	var all []Batch
	g := NewGatherer(1)
	for i, u := range j.units(r, 2) {
		g.Add(Visit{bellows.CommitNumber(2*i + 1), u})
		b, _ := g.Take()
		all = append(all, b)
	}
	for name, list := range map[string][]Batch{"left out": {all[0], all[2]}, "again": {all[0], all[0]}, "first": all[1:]} {
		p, err := NewProof(say)
		for i := 0; err == nil && i < len(list); i++ {
			err = p.Take(list[i])
		}
		if err == nil {
			t.Errorf("%s: it is not seen", name)
		}
	}
}

// TestAddingAllocatesNothing but the batch.
func TestAddingAllocatesNothing(t *testing.T) {
	g := NewGatherer(1)
	u := bellows.Unit{}
	g.Add(Visit{1, u})
	if n := testing.AllocsPerRun(100, func() {
		u.Clock, u.Items = u.Clock+1, bellows.Range{}
		g.Add(Visit{1, u})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkGather(b *testing.B) {
	g := NewGatherer(64)
	for i := range b.N {
		at := i % 64
		g.Add(Visit{bellows.CommitNumber(i), bellows.Unit{Split: bellows.SplitID(at), Clock: bellows.Clock(i / 64), Items: bellows.Range{Begin: i / 64 % 10 * 10, End: i/64%10*10 + 10}}})
		if i%640 == 639 {
			g.Take()
		}
	}
}

// TestAProofKnowsWhereTheJobIs ends no epoch when it begins, resumes where it was killed, and takes no clocks
// backwards.
func TestAProofKnowsWhereTheJobIs(t *testing.T) {
	t.Parallel()
	begin := func() *Proof {
		p, err := NewProof(&Statement{Splits: 1, Clocks: 2, Epoch: []Passage{{0, 0, 1, bellows.Range{End: 4}}}})
		require.NoError(t, err)
		return p
	}
	p := begin()
	if err := p.EpochsOver(0); err != nil {
		t.Errorf("before the first: %v", err)
	}
	if err := p.EpochsOver(1); err == nil {
		t.Error("the first is over")
	}
	require.NoError(t, p.Take(Batch{First: 1, Last: 1, List: []Passage{{0, 0, 0, bellows.Range{End: 3}}}}))
	if err := p.EpochsOver(0); err == nil {
		t.Error("it is between two epochs")
	}
	if err := p.Resume([]bellows.Clock{0}, nil); err != nil {
		t.Errorf("killed behind clock 0: %v", err)
	}
	if err := p.Take(Batch{First: 1, Last: 1, List: []Passage{{0, 1, 1, bellows.Range{Begin: 3, End: 4}}}}); err != nil {
		t.Errorf("and goes on: %v", err)
	}
	if err := p.EpochsOver(1); err != nil || p.Account().Void != 0 || p.Account().Lives != 2 {
		t.Errorf("%+v, %v", p.Account(), err)
	}
	for _, v := range []Passage{{0, 1, 0, bellows.Range{}}, {0, -1, 0, bellows.Range{}}, {1, 0, 0, bellows.Range{}}, {0, 0, 0, bellows.Range{Begin: -1}}, {0, 0, 0, bellows.Range{Begin: 1}}} {
		var f *Fault
		if err := begin().Take(Batch{First: 1, Last: 1, List: []Passage{v}}); !errors.As(err, &f) || f.Kind != Stranger {
			t.Errorf("%+v: %v", v, err)
		}
	}
}
