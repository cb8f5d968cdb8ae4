// Package historytest writes event logs of runs for tests, like those of a training command.
//
// The caller makes a list of events with Events, changes it if the test wants that, and makes the lines of the log with Lines.
package historytest

import (
	"testing"
	"time"

	"bellows"
	"bellows/core/visits"
	"bellows/run/event"
	"bellows/train"
)

// Job returns a job of two splits with three clocks an epoch. The third clock visits no items.
func Job() train.Job {
	return train.Job{Splits: 2, Items: func(s bellows.SplitID, c bellows.Clock) bellows.Range {
		at, n := int(c)%3, 10*(int(s)+1)
		return [3]bellows.Range{{End: n}, {Begin: n, End: 3 * n}, {}}[at]
	}}
}

// Events returns the events of that job after some epochs. Epochs lie in batches of their own. The last event has the kind end.
func Events(epochs int, end event.Kind) []event.Event {
	job := Job()
	job.Driver = Driver{}
	list := []event.Event{{Kind: event.Started}, event.OfJob(&job, job.Driver, nil)}
	list = append(list, Trained(&job, 0, epochs)...)
	return append(list, event.Event{Kind: end})
}

// Driver states what the clocks of the job are for, and does nothing else.
type Driver struct{ train.Driver }

// Cycle returns how many clocks come before the first epoch, and how many are in each.
func (Driver) Cycle() (opens, clocks int) { return 0, 3 }

// Trained returns the events of the epochs from one to another, with records from 1 on.
func Trained(job *train.Job, from, epochs int) (list []event.Event) {
	g := visits.NewGatherer(2)
	commit := bellows.CommitNumber(0)
	for e := from; e < epochs; e++ {
		for at := range 6 { // a split's clocks, in turn with the other's
			commit++
			u := bellows.Unit{Split: bellows.SplitID(at % 2), Clock: bellows.Clock(3*e + at/2)}
			u.Items = job.Items(u.Split, u.Clock)
			g.Add(visits.Visit{Commit: commit, Unit: u})
		}
		b, _ := g.Take()
		n := e + 1
		list = append(list, event.OfVisits(b), event.Event{Kind: event.Epoch, Epoch: &n})
	}
	return list
}

// Lines returns the lines of a log with these events, each with its number, its digest and a time.
func Lines(tb testing.TB, list []event.Event) (lines [][]byte) {
	tb.Helper()
	var c event.Chain
	for _, e := range list {
		_, line, err := c.Link(e, time.Unix(0, 0).UTC())
		if err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, append(line, '\n'))
	}
	return lines
}
