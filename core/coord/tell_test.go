package coord_test

import (
	"fmt"
	"slices"
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/link/wire"
)

// shows is a driver of rounds, each of which is an epoch.
type shows struct{ rounds }

func (d *shows) HandleTaskCompletion(_ coord.Completion, to *coord.Dispatcher) {
	if d.done++; d.done%2 > 0 {
		return
	}
	to.ShowEpoch(coord.Epoch{Number: d.done / 2})
	if d.done == 2*d.want {
		to.Finish()
	} else {
		d.DispatchInitialTasks(to)
	}
}

// tells returns what the controller has told since it was asked last, and which lanes it has asked.
func (f *follow) tells() string {
	told, asked, epochs := []bellows.CommitNumber{}, []uint8{}, []int{}
	for _, v := range f.fx.Visits {
		told = append(told, v.Commit)
	}
	for _, e := range f.fx.Epochs {
		epochs = append(epochs, e.Number)
	}
	for _, e := range f.fx.Envelopes {
		if _, query := e.Message.(*wire.Query); query {
			asked = append(asked, uint8(e.To.Index))
		}
	}
	f.fx = coord.Effects{}
	return fmt.Sprint("visits ", told, " epochs ", epochs, ", asks ", asked)
}

// confirms takes a lane's report that it has the records up to a number.
func (f *follow) confirms(lane int, last bellows.CommitNumber) {
	f.deliver(twoLanes[lane], &wire.Holding{Term: 1, Last: last, Tail: 1})
}

// TestSentRecordsAreHeldByLane makes epochs and visits wait for a lane's report, if another process may follow: for
// one lane's, or for another's if that one is silent. If no process may follow, they do not wait.
func TestSentRecordsAreHeldByLane(t *testing.T) {
	f := newFollowOf(t, coord.Options{Driver: &shows{rounds{want: 4}}, Stays: stays, Confirms: true})
	expect := func(when, want string) {
		t.Helper()
		if got := f.tells(); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	f.done(1, 0)
	expect("a flush has its number", "visits [] epochs [], asks []")
	f.done(2, 0)
	last := slices.IndexFunc(f.fx.Envelopes, func(e wire.Envelope) bool { _, is := e.Message.(*wire.Query); return is })
	if before := f.fx.Envelopes[:last]; !slices.ContainsFunc(before, func(e wire.Envelope) bool { _, is := e.Message.(*wire.Records); return is && e.To == twoLanes[0] }) {
		t.Error("the lane is asked before it has the records")
	}
	expect("an epoch ends", "visits [] epochs [], asks [0]")
	f.done(1, 1)
	expect("while a lane is asked", "visits [] epochs [], asks []")
	f.Tick(1000, nil, &f.fx)
	expect("it says nothing until the next tick", "visits [] epochs [], asks [1]")
	f.confirms(1, 2)
	expect("it has some", "visits [1 2] epochs [1], asks []")
	f.Tick(1500, nil, &f.fx)
	expect("a tick finds what no epoch has asked about", "visits [] epochs [], asks [0]")
	f.confirms(0, 3)
	expect("it has all", "visits [3] epochs [], asks []")
	f.Tick(2000, nil, &f.fx)
	expect("there is nothing to tell", "visits [] epochs [], asks []")

	f.done(2, 1)
	expect("another epoch", "visits [] epochs [], asks [0]")
	f.doneBoth(2)
	expect("and one while a lane is asked about that", "visits [] epochs [], asks []")
	f.confirms(0, 4)
	expect("which leaves the other to be asked about", "visits [4] epochs [2], asks [0]")
	f.confirms(0, 6)
	expect("it has all again", "visits [5 6] epochs [3], asks []")
	f.doneBoth(3)
	expect("the job has finished", "visits [] epochs [], asks [0]")
	f.deliver(twoLanes[1], &wire.Closed{})
	expect("who has ended has all records", "visits [7 8] epochs [4], asks []")

	f = newFollowOf(t, coord.Options{Driver: &shows{rounds{want: 4}}, Stays: stays})
	f.doneBoth(0)
	expect("nobody may follow", "visits [1 2] epochs [1], asks []")
}

// TestALostJobTellsAll lets a job fail before any lane has reported: what counted is reported before its outcome.
func TestALostJobTellsAll(t *testing.T) {
	f := newFollowOf(t, coord.Options{Driver: &shows{rounds{want: 4}}, Stays: stays, Confirms: true})
	f.doneBoth(0)
	f.deliver(clients[0], &wire.Failed{Kind: bellows.Lost, Reason: "it fails"})
	for _, a := range slices.Concat(twoLanes, clients) {
		if f.fx.Outcome != nil {
			t.Fatal("it is over before all have ended")
		}
		f.deliver(a, &wire.Closed{})
	}
	if f.fx.Outcome == nil || len(f.fx.Visits) != 2 || len(f.fx.Epochs) != 1 {
		t.Errorf("outcome %v, visits %v, epochs %v", f.fx.Outcome, f.fx.Visits, f.fx.Epochs)
	}
}

// TestMuchThatCountsIsAskedAbout lets a job count much within one epoch: it does not wait for its end, nor for a tick.
func TestMuchThatCountsIsAskedAbout(t *testing.T) {
	f := newFollowOf(t, coord.Options{Driver: &rounds{want: 1000}, Stays: stays, Confirms: true})
	for clock := range 255 {
		f.commit(clock)
	}
	f.done(1, 255)
	if got := f.tells(); got != "visits [] epochs [], asks []" {
		t.Error("too soon: ", got)
	}
	f.done(2, 255)
	if got := f.tells(); got != "visits [] epochs [], asks [0]" {
		t.Error(got)
	}
}
