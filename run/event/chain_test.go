package event

import (
	"bytes"
	"math"
	"reflect"
	"testing"
	"time"

	"bellows"
	"bellows/core/visits"
	"bellows/train"
)

// TestAChainShowsWhatIsAltered, removed or inserted, and continues after it.
func TestAChainShowsWhatIsAltered(t *testing.T) {
	t.Parallel()
	var made Chain
	var lines [][]byte
	for i := range 4 {
		e, line, err := made.Link(Event{Kind: Epoch, Sentence: `so,"digest":"`}, time.Unix(int64(i), 0))
		if err != nil || e.Seq != uint64(i+1) || len(e.Digest) != 16 || !bytes.HasSuffix(line, []byte(`,"digest":"`+e.Digest+`"}`)) {
			t.Fatalf("%+v is %s, %v", e, line, err)
		}
		lines = append(lines, line)
	}
	altered := func(from, to string) []byte { return bytes.Replace(lines[1], []byte(from), []byte(to), 1) }
	for name, c := range map[string]struct {
		lines [][]byte
		want  []Break
	}{
		"whole":        {lines, []Break{Whole, Whole, Whole, Whole}},
		"with spaces":  {[][]byte{append(lines[0], " \n"...), lines[1]}, []Break{Whole, Whole}},
		"cut out":      {[][]byte{lines[0], lines[2]}, []Break{Whole, Altered}},
		"another word": {[][]byte{lines[0], altered("epoch", "epock")}, []Break{Whole, Altered}},
		"a digit less": {[][]byte{lines[0], append(lines[1][:len(lines[1])-3:len(lines[1])-3], `"}`...)}, []Break{Whole, Altered}},
		"unsealed":     {[][]byte{lines[0], []byte(`{"seq":2}`), lines[1]}, []Break{Whole, Unsealed, Whole}},
	} {
		var read Chain
		for i, line := range c.lines {
			if got := read.Follows(line); got != c.want[i] {
				t.Errorf("%s: line %d is %d, want %d", name, i, got, c.want[i])
			}
		}
	}
}

// TestResumedLogIsOneChain: events after a resume are sealed with those before it. It may be closed twice.
func TestResumedLogIsOneChain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var read Chain
	for life := range 3 {
		log, err := OpenLog(folder, life > 0)
		if err != nil {
			t.Fatal(err)
		}
		e, err := log.Append(Event{Kind: Started})
		if err == nil {
			err = log.Begin()
		}
		if err != nil || e.Seq != uint64(life+1) {
			t.Fatalf("%+v, %v", e, err)
		}
		for range 2 {
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		}
		line, err := last(folder)
		if err != nil || read.Follows(line) != Whole {
			t.Errorf("life %d: %s, %v", life, line, err)
		}
	}
	if l, err := OpenLog(folder+"/none", true); err != nil || l.kept != 0 {
		t.Errorf("for a missing log: %+v, %v", l, err)
	}
	if l := new(Log); l.Close() != nil {
		t.Error("a log that has not begun does not close")
	}
	if err := (&Log{name: folder + "/none/x"}).Begin(); err == nil {
		t.Error("it begins nowhere")
	}
}

// cycles is a driver whose epochs have three clocks, after one opening clock.
type cycles struct{ train.Driver }

func (cycles) Cycle() (opens, clocks int) { return 1, 3 }

// TestJobStatementRoundTrip, with visits unchanged; a driver that does not state its clocks is reported.
func TestJobStatementRoundTrip(t *testing.T) {
	t.Parallel()
	items := func(s bellows.SplitID, c bellows.Clock) bellows.Range {
		if c == 0 {
			return bellows.Range{End: 5}
		}
		return bellows.Range{End: 5}.Part(int(c-1)%3, 3)
	}
	job := &train.Job{Splits: 2, Items: items}
	want, err := visits.State(2, 1, 3, items)
	if err != nil {
		t.Fatal(err)
	}
	e := OfJob(job, cycles{}, nil)
	if got, err := e.Statement.Statement(); err != nil || !reflect.DeepEqual(got, want) || e.Kind != Stated || e.Statement.Complete != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if e.Sentence != "an epoch visits 10 items of 2 splits once, in 3 clocks" {
		t.Errorf("it says %s", e.Sentence)
	}
	im := &train.Image{}
	im.State.Complete = []bellows.Clock{4, 5}
	if e := OfJob(job, cycles{}, im); !reflect.DeepEqual(e.Statement.Complete, im.State.Complete) {
		t.Errorf("it goes on behind %v", e.Statement.Complete)
	}
	if e := OfJob(job, struct{ train.Driver }{}, nil); e.Statement.Unstated == "" || e.Statement.SplitCount != 2 || e.Statement.EpochVisits == nil {
		t.Errorf("without epochs: %+v", e.Statement)
	}
	batch := visits.Batch{First: 3, Last: 7, List: want.Epoch}
	e = OfVisits(batch)
	if got, err := e.Visits.Batch(); err != nil || !reflect.DeepEqual(got, batch) || e.Kind != Visited || e.Sentence != "10 items of 2 splits count, by records 3 to 7" {
		t.Errorf("%+v, %v, %s", got, err, e.Sentence)
	}
	e.Visits.Visited++
	if _, err := e.Visits.Batch(); err == nil {
		t.Error("one item more than there is is taken")
	}
}

// TestNumbersThatNothingHasAreRefused where passages are read.
func TestNumbersThatNothingHasAreRefused(t *testing.T) {
	t.Parallel()
	for p, right := range map[Passage]bool{
		{math.MaxInt32, math.MaxInt32, math.MaxInt32, math.MaxInt32 + 1, math.MaxInt32 + 2}: true,
		{math.MaxInt32 + 1, 0, 0, 0, 0}: false, {0, math.MaxInt32 + 1, 0, 0, 0}: false, {0, 0, math.MaxInt32 + 1, 0, 0}: false,
		{-1, 0, 0, 0, 0}: false, {0, 0, 0, -1, 0}: false, {0, 0, 0, 0, -1}: false,
	} {
		_, opening := (&Statement{Opening: []Passage{p}}).Statement()
		_, epoch := (&Statement{EpochVisits: []Passage{p}}).Statement()
		_, counts := (&Visits{Visits: []Passage{p}, Visited: int64(p[4] - p[3])}).Batch()
		if (opening == nil) != right || (epoch == nil) != right || (counts == nil) != right {
			t.Errorf("%v: %v, %v, %v", p, opening, epoch, counts)
		}
	}
}
