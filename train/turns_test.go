package train

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"bellows"
	"bellows/table"
)

// oneByOne are Turns with a goroutine for each task, only one of which may ask at a time.
type oneByOne struct {
	turn  chan struct{} // its holder may ask
	woken []chan struct{}
	log   []string // under turn
}

func (o *oneByOne) Begin(t *Task) { go t.Run() }
func (o *oneByOne) Wake(t *Task)  { o.woken[t.Split()] <- struct{}{} }

func (o *oneByOne) Enter(t *Task, ask Ask) {
	<-o.turn
	o.log = append(o.log, fmt.Sprintf("%d: %s table %d row %d", t.Split(),
		[...]string{"read", "prefetch", "lease", "end"}[ask.Kind], ask.Table, ask.First))
}

func (o *oneByOne) Leave(t *Task) {
	o.log = append(o.log, fmt.Sprintf("%d: answered", t.Split()))
	o.turn <- struct{}{}
}

func (o *oneByOne) Wait(t *Task) {
	o.log = append(o.log, fmt.Sprintf("%d: waits", t.Split()))
	o.turn <- struct{}{}
	<-o.woken[t.Split()]
	<-o.turn
	o.log = append(o.log, fmt.Sprintf("%d: woken", t.Split()))
}

// TestTurnsAreTaken runs a job with turns: each question to the client, including the end, has a turn with its subject,
// and is answered within it; during a wait another task has its turn.
func TestTurnsAreTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const splits = 2
		o := &oneByOne{turn: make(chan struct{}, 1),
			woken: []chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
		o.turn <- struct{}{}
		released := make(chan struct{})
		s := newStage(t, Job{Splits: splits,
			Tables: []table.Schema{{Name: "a", Rows: 9, Width: 1}, {Name: "b", Rows: 9, Width: 1}},
			NewExecutor: executors(func(t *Task) error {
				if t.Split() == 1 {
					<-released
					return nil
				}
				t.PullRange(1, 3, 5)
				t.Prefetch(0, 2, 4)
				t.Pull(1, []bellows.RowID{8, 6, 7}, make([]float32, 3))
				t.Lease(0, 0, Shared)
				return nil
			})}, 1)
		s.runner.GiveTurns(o)
		s.holds = isRows
		s.start()
		synctest.Wait()
		close(released)
		synctest.Wait()
		s.hold(nil)
		s.end()
		synctest.Wait()
		var of [splits][]string
		for _, line := range o.log {
			of[line[0]-'0'] = append(of[line[0]-'0'], line[3:])
		}
		want := [splits][]string{{
			"read table 1 row 3", "waits", "woken", "answered",
			"prefetch table 0 row 2", "answered",
			"read table 1 row 6", "waits", "woken", "answered",
			"lease table 0 row 0", "waits", "woken", "answered",
			"end table 0 row 0", "answered",
		}, {"end table 0 row 0", "answered"}}
		for split := range want {
			if !slices.Equal(of[split], want[split]) {
				t.Errorf("split %d:\n got %q\nwant %q", split, of[split], want[split])
			}
		}
		if at := slices.Index(o.log, "1: end table 0 row 0"); at < slices.Index(o.log, "0: waits") ||
			at > slices.Index(o.log, "0: woken") {
			t.Errorf("the other task has no turn while one waits: %q", o.log)
		}
	})
}
