package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/core/coord"
	"bellows/core/visits"
	"bellows/internal/require"
	"bellows/run/event"
	"bellows/run/history/historytest"
	"bellows/train"
)

func verify(lines [][]byte, going bool) (*Verified, error) {
	var v Verifier
	for _, line := range lines {
		if err := v.Take(line); err != nil {
			return nil, err
		}
	}
	return v.Conclude(going)
}

// altered returns a log with a changed n-th visited event, with digests as if the log's writer had written it.
func altered(t *testing.T, n int, alter func(v *event.Visits)) [][]byte {
	t.Helper()
	list := historytest.Events(3, event.Finished)
	for i := range list {
		if list[i].Kind == event.Visited {
			if n--; n < 0 {
				alter(list[i].Visits)
				list[i].Visits.Visited = 0
				for _, p := range list[i].Visits.Visits {
					list[i].Visits.Visited += int64(p[4] - p[3])
				}
				break
			}
		}
	}
	return historytest.Lines(t, list)
}

// TestALogProvesItsVisits checks the log of a run that finished, and of one that continues.
func TestALogProvesItsVisits(t *testing.T) {
	t.Parallel()
	r, err := verify(historytest.Lines(t, historytest.Events(3, event.Finished)), false)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Proof{Splits: 2, Items: 90, Epochs: 3, Visited: 270, Lives: 1}); r.Ended != "finished" || r.Events != 9 || !slices.Equal(r.Proofs, []Proof{want}) {
		t.Errorf("%+v, not %+v", r, want)
	}
	if said := r.Proofs[0].Sentence(); said != "proved: each of the 90 items of 2 splits that an epoch visits was visited once in each of 3 epochs: 270 visits count" {
		t.Error(said)
	}
	whole := historytest.Lines(t, historytest.Events(3, event.Finished))
	if r, err := verify(whole[:4], true); err != nil || r.Ended != "" || r.Proofs[0].Epochs != 1 {
		t.Errorf("a run that continues: %+v, %v", r, err)
	}
}

// TestFoldsAreProved checks that each fold is proved separately: the log of one that has ended is complete.
func TestFoldsAreProved(t *testing.T) {
	t.Parallel()
	list := historytest.Events(1, event.Fold)
	for i := range list[1:] {
		list[i+1].Fold = 1
	}
	r, err := verify(historytest.Lines(t, list), false)
	if err != nil || r.Ended != "finished" || r.Proofs[0].Fold != 1 || !strings.HasPrefix(r.Proofs[0].Sentence(), "fold 1: proved: ") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := verify(historytest.Lines(t, list[:len(list)-1]), false); err == nil {
		t.Error("one that has not ended is whole")
	}
	p := Proof{Splits: 1, Items: 2, Epochs: 1, Visited: 9, Before: 3, Begun: 4, Void: 5, Lives: 6}
	if want := "proved: each of the 2 items of 1 split that an epoch visits was visited once in each of 1 epoch, 4 of them in one that is not over, and 3 items before the first epoch, as stated: 9 visits count, and 5 are void, since the run went on from before; it was trained in 6 parts"; p.Sentence() != want {
		t.Error(p.Sentence())
	}
}

// TestVerifyFindsHiddenEvents checks visits that are doubled, left out, or overlap, also with recomputed digests.
func TestVerifyFindsHiddenEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alter func(v *event.Visits)
		want  string
	}{
		"doubled":  {func(v *event.Visits) { v.Visits = append(v.Visits, v.Visits[1]) }, "split 1 clock 3: it counts again"},
		"part":     {func(v *event.Visits) { v.Visits = append(v.Visits, event.Passage{1, 5, 5, 40, 50}) }, "split 1 clock 5: items [40,50) are visited again"},
		"missing":  {func(v *event.Visits) { v.Visits = v.Visits[:1] }, "split 1 clock 3: it has not counted"},
		"short":    {func(v *event.Visits) { v.Visits[0][4]-- }, "split 0 clock 5: items [29,30) were not visited"},
		"late":     {func(v *event.Visits) { v.Visits[0][3]++ }, "split 0 clock 3: items [0,1) were not visited"},
		"no clock": {func(v *event.Visits) { v.Visits[0][2]-- }, "split 0 clock 5: it has not counted"},
		"overlap": {func(v *event.Visits) {
			v.Visits = append(v.Visits[:1:1], event.Passage{1, 3, 3, 0, 20}, event.Passage{1, 4, 5, 15, 60})
		}, "split 1 clock 4: items [15,60) overlap those up to 20"},
		"gap": {func(v *event.Visits) {
			v.Visits = append(v.Visits[:1:1], event.Passage{1, 3, 3, 0, 20}, event.Passage{1, 4, 5, 25, 60})
		}, "split 1 clock 4: items [20,25) were not visited"},
		"too many":      {func(v *event.Visits) { v.Visits[0][4]++ }, "split 0 clock 5: items [0,31) are visited, and [0,30) are stated"},
		"stranger":      {func(v *event.Visits) { v.Visits[0][0] = 2 }, "split 2 clock 3: the job has no clocks"},
		"other split":   {func(v *event.Visits) { v.Visits[0][0] = 1 }, "split 1 clock 3: it counts again"},
		"backwards":     {func(v *event.Visits) { v.Visits[0][3], v.Visits[0][4] = 9, 3 }, "no clocks 3 to 5 with items [9,3)"},
		"no numbers":    {func(v *event.Visits) { v.Visits[0][1] = -1 }, "is no passage"},
		"records":       {func(v *event.Visits) { v.Records[0]++ }, "records 8 to 12 is told behind record 6"},
		"records again": {func(v *event.Visits) { v.Records[0]-- }, "records 6 to 12 is told behind record 6"},
	} {
		_, err := verify(altered(t, 1, c.alter), false)
		var f *fault
		if !errors.As(err, &f) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		} else if f.line < 5 || f.line > 6 {
			t.Errorf("%s: line %d is named: %v", name, f.line, err)
		}
	}
}

// TestAnAlteredLogIsFound checks that numbers and digests reveal each altered or removed line, and a log that is cut
// off anywhere.
func TestAnAlteredLogIsFound(t *testing.T) {
	t.Parallel()
	whole := historytest.Lines(t, historytest.Events(3, event.Finished))
	for i := range whole {
		cut := slices.Delete(slices.Clone(whole), i, i+1)
		if _, err := verify(cut, false); err == nil {
			t.Errorf("line %d was taken out, and is not missed", i+1)
		}
		if _, err := verify(whole[:i], false); err == nil {
			t.Errorf("the log ends behind line %d, and is taken for whole", i)
		}
		if _, err := verify(slices.Insert(slices.Clone(whole), i, whole[i]), false); err == nil {
			t.Errorf("line %d stands there twice", i+1)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		bad := slices.Clone(whole)
		i := r.IntN(len(bad))
		bad[i] = bytes.Clone(bad[i])
		at := r.IntN(len(bad[i]) - 1)
		bad[i][at] ^= 1 << r.IntN(7)
		if _, err := verify(bad, false); err == nil {
			t.Fatalf("line %d was altered to %s", i+1, bad[i])
		}
	}
	edited := slices.Clone(whole)
	edited[3] = bytes.Replace(bytes.Clone(edited[3]), []byte(`"epoch":1`), []byte(`"epoch":0`), 1)
	if _, err := verify(edited, false); err == nil || !strings.Contains(err.Error(), "event 4 was altered, or an event before it") {
		t.Errorf("an altered epoch: %v", err)
	}
}

// TestResumedRunIsProved checks a run that was interrupted, then lost, and resumed where it was interrupted. A run that
// resumed elsewhere is not proved.
func TestResumedRunIsProved(t *testing.T) {
	t.Parallel()
	first := historytest.Events(2, event.Interrupted)
	job := historytest.Job()
	goOn := func(list []event.Event, clock bellows.Clock, epochs int, end event.Kind) []event.Event {
		im := &train.Image{State: coord.State{Complete: []bellows.Clock{clock, clock}}}
		list = append(slices.Clone(list), event.Event{Kind: event.Resumed}, event.OfJob(&job, historytest.Driver{}, im))
		return append(append(list, historytest.Trained(&job, 2, epochs)...), event.Event{Kind: end})
	}
	lost := goOn(first, 5, 4, event.Lost)
	r, err := verify(historytest.Lines(t, goOn(lost, 5, 3, event.Finished)), false)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Proof{Splits: 2, Items: 90, Epochs: 3, Visited: 270, Void: 180, Lives: 3}); r.Proofs[0] != want {
		t.Errorf("%+v, not %+v", r.Proofs[0], want)
	}
	if r, err := verify(historytest.Lines(t, lost), false); err != nil || r.Ended != "lost" || r.Proofs[0].Epochs != 4 {
		t.Errorf("a lost run: %+v, %v", r, err)
	}
	for name, clock := range map[string]bellows.Clock{"before": 2, "behind": 8} {
		if _, err := verify(historytest.Lines(t, goOn(first, clock, 3, event.Finished)), false); err == nil || !strings.Contains(err.Error(), "the job goes on behind it") {
			t.Errorf("it resumes %s where it stopped: %v", name, err)
		}
	}
	back := append(slices.Clone(first), event.Event{Kind: event.RolledBack}, event.Again(event.OfJob(&job, historytest.Driver{}, nil)))
	r, err = verify(historytest.Lines(t, append(append(back, historytest.Trained(&job, 0, 3)...), event.Event{Kind: event.Finished})), false)
	if err != nil || r.Proofs[0].Lives != 2 || r.Proofs[0].Visited != 270 || r.Proofs[0].Void == 0 {
		t.Errorf("a run that starts over: %+v, %v", r, err)
	}
	other := goOn(first, 5, 3, event.Finished)
	other[len(first)+1].Statement.EpochClocks = 4
	if _, err := verify(historytest.Lines(t, other), false); err == nil || !strings.Contains(err.Error(), "the job differs from before") {
		t.Errorf("another job: %v", err)
	}
	other = goOn(first, 5, 3, event.Finished)
	other[len(first)+1].Statement.Complete = nil
	if _, err := verify(historytest.Lines(t, other), false); err == nil || !strings.Contains(err.Error(), "stated a second time") {
		t.Errorf("a job that begins twice: %v", err)
	}
}

// TestUnprovableLogIsReported checks logs of an earlier version, of a driver that does not state its epochs, and
// without visits.
func TestUnprovableLogIsReported(t *testing.T) {
	t.Parallel()
	job := train.Job{Splits: 1, Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }}
	finished := event.Event{Kind: event.Finished}
	one := 1
	for want, lines := range map[string][][]byte{
		"its driver does not say which clocks make an epoch":                             historytest.Lines(t, []event.Event{{Kind: event.Started}, event.OfJob(&job, nil, nil), finished}),
		"the log does not state what is to be visited":                                   historytest.Lines(t, []event.Event{{Kind: event.Started}, finished}),
		"it has no digest: the log was written by an earlier version, or it was altered": {[]byte(`{"seq":1,"kind":"started"}` + "\n")},
		"the log before it does not state what is to be visited":                         historytest.Lines(t, []event.Event{{Kind: event.Started}, {Kind: event.Epoch, Epoch: &one}, finished}),
		"split 0 clock 0: it has not counted":                                            historytest.Lines(t, []event.Event{event.OfJob(&job, &train.Rounds{}, nil), {Kind: event.Epoch, Epoch: &one}, finished}),
		"it is no event":                                                                 {[]byte("epoch 1\n")},
		"it comes after the result, which must be the last line":                         append(historytest.Lines(t, historytest.Events(1, event.Finished)), []byte("{\"app\":\"mf\"}\n"), []byte("{\"app\":\"mf\"}\n")),
		"it does not say what counts":                                                    historytest.Lines(t, []event.Event{event.OfJob(&job, &train.Rounds{}, nil), {Kind: event.Visited}}),
		"0 splits, 0 clocks before the first epoch and 0 in each":                        historytest.Lines(t, []event.Event{{Kind: event.Stated, Statement: &event.Statement{}}}),
	} {
		if _, err := verify(lines, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzVerify: whatever the lines, the answer is a proof or an error.
func FuzzVerify(f *testing.F) {
	var c event.Chain
	for _, e := range historytest.Events(1, event.Finished) {
		_, line, err := c.Link(e, time.Unix(0, 0).UTC())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var e event.Event
		if json.Unmarshal(line, &e) != nil {
			return
		}
		if e.Statement != nil && e.Statement.SplitCount > 1<<10 {
			return // a split takes some memory, and 2^20 are allowed
		}
		var c event.Chain
		list := historytest.Events(2, event.Finished)
		list = slices.Insert(list, 3, e)
		var v Verifier
		for _, e := range list {
			_, line, err := c.Link(e, time.Unix(0, 0).UTC())
			if err != nil || v.Take(line) != nil {
				return
			}
		}
		_, _ = v.Conclude(false)
	})
}

// TestRunResumedInAClockIsProved resumes a run from a checkpoint at which half of a clock counts. The statement has that
// half; without it the proof fails.
func TestRunResumedInAClockIsProved(t *testing.T) {
	t.Parallel()
	job := historytest.Job()
	batch := func(stop bool, units ...bellows.Unit) event.Event {
		g := visits.NewGatherer(2)
		for i, u := range units {
			g.Add(visits.Visit{Commit: bellows.CommitNumber(i + 1), Unit: u})
		}
		b, _ := g.Take()
		b.Stop = stop
		return event.OfVisits(b)
	}
	unit := func(s bellows.SplitID, clock bellows.Clock) bellows.Unit {
		return bellows.Unit{Split: s, Clock: clock, Items: job.Items(s, clock)}
	}
	half, rest := unit(0, 0), unit(0, 0)
	half.Items.End, rest.Items.Begin = 4, 4
	one := 1
	log := func(open ...bellows.Unit) [][]byte {
		im := &train.Image{State: coord.State{Complete: []bellows.Clock{bellows.NoClock, bellows.NoClock}, Open: open}}
		return historytest.Lines(t, []event.Event{
			{Kind: event.Started}, event.OfJob(&job, historytest.Driver{}, nil), batch(true, half),
			{Kind: event.Resumed}, event.OfJob(&job, historytest.Driver{}, im),
			batch(false, rest, unit(1, 0), unit(0, 1), unit(1, 1), unit(0, 2), unit(1, 2)),
			{Kind: event.Epoch, Epoch: &one}, {Kind: event.Finished},
		})
	}
	r, err := verify(log(half), false)
	require.NoError(t, err)
	if want := (Proof{Splits: 2, Items: 90, Epochs: 1, Visited: 90, Lives: 2}); r.Proofs[0] != want {
		t.Errorf("%+v, not %+v", r.Proofs[0], want)
	}
	if _, err := verify(log(), false); err == nil {
		t.Error("a half that does not count is proved")
	}
}
