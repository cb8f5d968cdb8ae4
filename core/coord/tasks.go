package coord

import (
	"cmp"
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/gate"
	"bellows/core/planted"
	"bellows/link/wire"
)

// tasks are the clocks of all splits: how far they are by committed units, and which units are out.
//
// A task is out from its dispatch until the flush that finishes it has its number: another controller would dispatch it
// again, under the commit that it saw (docs/decisions/0032).
//
// Invariant: the units of a split count in the order of their dispatch (TestUnitsCountInTheOrderOfDispatch), and only
// those that are out (TestWorkThatWasNotDispatchedIsRefused).
type tasks struct {
	progress *gate.Progress
	next     []bellows.Clock // per split: the clock that its next task gets
	out      []inFlight      // per split
	count    int             // of tasks that are out
	training int             // of these, with items to visit
	horizon  bellows.Clock   // the last clock that any split was given
}

// newTasks returns the tasks of a job that begins.
func newTasks(job *core.Job) tasks {
	n := job.Route.Splits()
	return tasks{progress: gate.NewProgress(n, job.Items), next: make([]bellows.Clock, n), out: make([]inFlight, n),
		horizon: bellows.NoClock}
}

// start counts a task that is out, of the next clock of its split.
func (t *tasks) start(u bellows.Unit) {
	t.next[u.Split] = u.Clock + 1
	t.count++
	if u.Items.Len() > 0 {
		t.training++
	}
}

// complete counts a finished unit in the progress. It refuses one that was not dispatched, or comes twice.
func (t *tasks) complete(u bellows.Unit) error {
	if err := t.progress.Check(u); err != nil {
		return err
	}
	// A part of a unit is refused too: the driver would take it for the whole.
	if !t.out[u.Split].remove(u) && !planted.On("overlap-accepted") {
		return fmt.Errorf("%v was not dispatched", u)
	}
	t.progress.Commit(u)
	return nil
}

// firstBehind returns the split of the first unit before which another was dispatched that neither counts nor is in the
// flush before it; false: none.
func (t *tasks) firstBehind(results []wire.Result) (bellows.SplitID, bool) {
	for i := range results {
		u := &results[i].Unit
		if int(u.Split) >= len(t.out) || planted.On("overlap-accepted") ||
			u.Clock == t.progress.Split(u.Split)+1 && planted.On("unit-before-its-turn") {
			continue
		}
		before := t.out[u.Split].place(u)
		for k := 0; k < i && before > 0; k++ {
			if results[k].Unit.Split == u.Split {
				before--
			}
		}
		if before > 0 {
			return u.Split, true
		}
	}
	return 0, false
}

// renew makes what is out of a split that has just moved depend on the record of the move: its new node has not
// seen what the one before has seen.
func (t *tasks) renew(s bellows.SplitID, commit bellows.CommitNumber) {
	if planted.On("recalled-not-renewed") {
		return
	}
	for i := range t.out[s] {
		t.out[s][i].Commit = commit
	}
}

// outstanding returns every task that is out: those of a split in the order of their dispatch, and all in the order
// of the commits that they see.
func (t *tasks) outstanding() (list []Out) {
	for s := range t.out {
		for _, one := range t.out[s] {
			one.Args = slices.Clone(one.Args)
			list = append(list, one)
		}
	}
	slices.SortStableFunc(list, func(a, b Out) int { return cmp.Compare(a.Commit, b.Commit) })
	return list
}

// inFlight is the tasks of one split that are out, in the order of their dispatch. Memory after the list's end holds
// arguments of earlier tasks, to be used again.
type inFlight []Out

// add adds a task, copying its arguments.
func (o *inFlight) add(u bellows.Unit, commit bellows.CommitNumber, args []float64) {
	n := len(*o)
	if n < cap(*o) {
		*o = (*o)[:n+1]
	} else {
		*o = append(*o, Out{})
	}
	t := &(*o)[n]
	t.Unit, t.Commit, t.Args = u, commit, append(t.Args[:0], args...)
}

// place returns how many tasks of the split were dispatched before one and have no number; -1: it is not out.
func (o inFlight) place(u *bellows.Unit) int {
	return slices.IndexFunc(o, func(t Out) bool { return t.Unit == *u })
}

// remove forgets a task whose flush has its number, and reports whether it was out. As a rule it is the first.
func (o *inFlight) remove(u bellows.Unit) bool {
	list := *o
	for i := range list {
		if list[i].Unit == u {
			args := list[i].Args
			copy(list[i:], list[i+1:])
			list[len(list)-1] = Out{Task: wire.Task{Args: args}}
			*o = list[:len(list)-1]
			return true
		}
	}
	return false
}

// dispatches are the messages of tasks in a step. They are sent after the records that they rely on.
type dispatches struct {
	term   bellows.Term
	list   []dispatch // in the order of their commits
	newest []int      // by node: 1 + the place of its last message in the list; 0: it has none
}

// dispatch is tasks for one client that rely on the same commit.
type dispatch struct {
	to      bellows.NodeID
	message *wire.Dispatch
}

// messageTo returns the message to a client for tasks that rely on a record. Tasks that another record has caused have
// a message of their own, although both came in one step: another controller replays record by record, does not know
// what came in one step, and must dispatch the same.
func (d *dispatches) messageTo(node bellows.NodeID, commit bellows.CommitNumber) *wire.Dispatch {
	if planted.On("dispatch-blind") {
		commit = 0
	}
	for len(d.newest) <= int(node) {
		d.newest = append(d.newest, 0)
	}
	if n := d.newest[node]; n > 0 && d.list[n-1].message.Commit == commit {
		return d.list[n-1].message
	}
	m := wire.New[wire.Dispatch]()
	m.Term, m.Commit = d.term, commit
	d.list = append(d.list, dispatch{node, m})
	d.newest[node] = len(d.list)
	return m
}

// send sends the messages.
func (d *dispatches) send(self wire.Address, out *wire.Outbox) {
	for _, one := range d.list {
		out.Send(self, wire.ClientAt(one.to), one.message)
		d.newest[one.to] = 0
	}
	clear(d.list)
	d.list = d.list[:0]
}
