package agenda_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/agenda"
	"bellows/core/journal"
	"bellows/link/wire"
)

var self = wire.Address{Role: wire.Controller}

// announced returns the messages that an announcement to clients sends.
func announced(a *agenda.Agenda, clients ...wire.Address) (list []wire.Staleness) {
	var out wire.Outbox
	a.Announce(self, 3, clients, &out)
	for i, e := range out.Envelopes {
		m := *e.Message.(*wire.Staleness)
		if e.From != self || e.To != clients[i%len(clients)] || m.Term != 3 {
			return nil
		}
		m.Term = 0
		list = append(list, m)
	}
	return list
}

// TestStalenessIsAnnouncedOnce changes the staleness of tables, and announces the changes to two clients.
func TestStalenessIsAnnouncedOnce(t *testing.T) {
	var a agenda.Agenda
	first, second := wire.Staleness{Table: 1, Clocks: 4}, wire.Staleness{Table: 0, Clocks: 2}
	if got := a.SetStaleness(first); got != (bellows.Control{Kind: bellows.SetStaleness, Table: 1, Clocks: 4}) {
		t.Errorf("record %+v", got)
	}
	a.SetStaleness(second)
	clients := []wire.Address{wire.ClientAt(1), wire.ClientAt(2)}
	if got := announced(&a, clients...); !slices.Equal(got, []wire.Staleness{first, first, second, second}) {
		t.Errorf("announces %v", got)
	}
	if got := announced(&a, clients...); len(got) > 0 {
		t.Errorf("announces %v again", got)
	}
	a.SetStaleness(first)
	a.Announced()
	if got := announced(&a, clients...); len(got) > 0 {
		t.Errorf("announces %v, which clients know", got)
	}
	var s journal.State
	if a.State(&s); !slices.Equal(s.Staleness, []wire.Staleness{first, second, first}) {
		t.Errorf("changes %v", s.Staleness)
	}
	clocks := []int32{7, 8, 9}
	if a.Override(clocks); !slices.Equal(clocks, []int32{2, 4, 9}) {
		t.Errorf("staleness %v", clocks)
	}
	last := []bellows.Control{{Kind: bellows.SetStaleness, Clocks: 2},
		{Kind: bellows.SetStaleness, Table: 1, Clocks: 4}}
	if got := a.Records(); !slices.Equal(got, last) {
		t.Errorf("records %+v", got)
	}
}

// TestADrainIsOneRecord drains a job: not before it is interrupted, and once.
func TestADrainIsOneRecord(t *testing.T) {
	var a agenda.Agenda
	drain := func(want bool) {
		t.Helper()
		r, begins := a.Drain(7)
		if begins != want || want && r != (bellows.Control{Kind: bellows.Drain, Clock: 7}) {
			t.Errorf("drains: %v, %+v", begins, r)
		}
	}
	if drain(false); a.Draining() || a.Withholds(8, 7) {
		t.Error("a job drains that was not interrupted")
	}
	a.Interrupt()
	a.Interrupt()
	drain(true)
	drain(false)
	if !a.Draining() {
		t.Error("it does not drain")
	}
	a = agenda.Agenda{}
	a.ReplayDrain()
	a.Interrupt()
	drain(false)
}

// TestLaterClocksAreQueued lets a job drain: tasks of clocks after the horizon are left to another run.
func TestLaterClocksAreQueued(t *testing.T) {
	var a agenda.Agenda
	a.ReplayDrain()
	if a.Withholds(7, 7) || !a.Withholds(8, 7) {
		t.Error("the wrong clocks are withheld")
	}
	args := []float64{1}
	a.Queue(4, args)
	args[0] = 2
	if o := a.Idle(); !o.Interrupted || o.Reason != "interrupted" || o.Kind != bellows.Interrupted {
		t.Errorf("outcome %+v", o)
	}
	var s journal.State
	a.State(&s)
	if len(s.Queue) != 1 || s.Queue[0].Unit.Split != 4 || s.Queue[0].Args[0] != 1 {
		t.Errorf("saved %+v", s.Queue)
	}
	if list, any := a.TakeQueue(); !any || len(list) != 1 {
		t.Errorf("queued: %v", list)
	}
	if list, any := a.TakeQueue(); any || len(list) > 0 {
		t.Errorf("still queued: %v", list)
	}
}

// TestIdle lists what it means that no task is out.
func TestIdle(t *testing.T) {
	var a agenda.Agenda
	const forgotten = "the driver dispatched no task and did not finish"
	if o := a.Idle(); o.Kind != bellows.Lost || o.Interrupted || o.Reason != forgotten {
		t.Errorf("outcome %+v", o)
	}
	a.Finish()
	if o := a.Idle(); o.Reason != "" || o.Interrupted || o.Kind != 0 {
		t.Errorf("outcome %+v", o)
	}
}

// TestAnAgendaIsSaved continues from a saved state: in another run, and by another controller.
func TestAnAgendaIsSaved(t *testing.T) {
	var a agenda.Agenda
	change := wire.Staleness{Table: 1, Clocks: 4}
	a.SetStaleness(change)
	a.Finish()
	a.ReplayDrain()
	a.Queue(2, nil)
	var saved journal.Saved
	a.State(&saved.State)
	a.Save(&saved)
	saved.Out = []journal.Out{{Commit: 5}}
	if !saved.Finishing || !saved.Draining || !slices.Equal(saved.Staleness, []wire.Staleness{change}) {
		t.Errorf("saved %+v", saved)
	}
	var run agenda.Agenda
	run.Resume(&saved.State)
	list := run.TakeResumed(9)
	if len(list) != 1 || list[0].Commit != 9 || saved.Out[0].Commit != 5 {
		t.Errorf("resumes %v", list)
	}
	if list := run.TakeResumed(9); len(list) > 0 || run.Draining() {
		t.Errorf("resumes %v", list)
	}
	if _, any := run.TakeQueue(); !any || len(run.Records()) != 1 {
		t.Error("the queue or the staleness is forgotten")
	}
	if o := run.Idle(); o.Reason != "" {
		t.Errorf("outcome %+v", o)
	}
	var next agenda.Agenda
	next.Resume(&saved.State)
	next.Restore(&saved)
	if len(next.TakeResumed(9)) > 0 || !next.Draining() {
		t.Error("the tasks of a controller that is replaced are run again, or it does not drain")
	}
}
