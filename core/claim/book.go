package claim

import (
	"cmp"
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/gate"
	"bellows/core/journal"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Book is the controller's end: which claims are out, which nodes hold them, and what may count next.
//
// The units of a split count in the order of their dispatch. A split that waits for no other runs ahead of its commits,
// and the messages that its flushes are done come by way of different lanes. So a message may come before its turn.
// The Book keeps it until the units before it count.
//
// Invariants, and what holds them:
//
//   - The units of a split count in the order of their dispatch: TestUnitsCountInTheOrderOfDispatch.
//   - Only claims count, each once, and only for their holders: TestOnlyClaimsCount.
//   - A Book keeps no more early messages than claims are out, and one for a flush: TestEarlyIsBounded.
//   - A split moves only while no node computes a unit of it: TestASplitMovesWhenItRests. While its claims are
//     recalled, nothing of it is sent: TestARecallStopsDispatches.
//   - Claims that rely on different records are sent in different messages: TestClaimsOfOneRecordShareAMessage.
//
// Rejected: to record claims. They follow from the records and the driver, and a record for each would double the log.
type Book struct {
	job      *core.Job
	term     bellows.Term
	progress *gate.Progress
	next     []bellows.Clock // by split: the clock of its next claims
	out      []list          // by split
	count    int             // claims with results that the driver does not have
	training int             // of these, with items to visit
	horizon  bellows.Clock   // the last clock that was dispatched of any split, in any run
	early    early
	moves    moves
	messages messages
	computes []computing // by split; nil: no node has reported anything
}

// NewBook returns the book of a job that begins, for the controller of a term.
func NewBook(job *core.Job, term bellows.Term) *Book {
	n := job.Route.Splits()
	return &Book{
		job: job, term: term, progress: gate.NewProgress(n, job.Items),
		next: make([]bellows.Clock, n), out: make([]list, n), horizon: bellows.NoClock,
		messages: messages{term: term},
	}
}

// Progress returns how far all splits are by the units that count. The caller does not change it.
func (b *Book) Progress() *gate.Progress { return b.progress }

// Next returns the clock of a split's next claims.
func (b *Book) Next(s bellows.SplitID) bellows.Clock { return b.next[s] }

// Horizon returns the last clock that was dispatched of any split, by this controller or the ones before it.
func (b *Book) Horizon() bellows.Clock { return b.horizon }

// Furthest returns the last clock that was dispatched of any split.
func (b *Book) Furthest() bellows.Clock {
	furthest := bellows.NoClock
	for _, next := range b.next {
		furthest = max(furthest, next-1)
	}
	return furthest
}

// Outstanding returns the number of claims with results that the driver does not have.
func (b *Book) Outstanding() int { return b.count }

// Training reports whether a claim with items to visit is out.
func (b *Book) Training() bool { return b.training > 0 }

// Rests reports whether all that was dispatched of a split counts.
func (b *Book) Rests(s bellows.SplitID) bool { return b.progress.Split(s)+1 == b.next[s] }

// Unfinished returns how many items are left of the clocks up to the horizon.
func (b *Book) Unfinished() (items int) {
	for s := range b.next {
		split := bellows.SplitID(s)
		for clock := b.progress.Split(split) + 1; clock <= b.horizon; clock++ {
			items += b.job.Items(split, clock).Len()
		}
	}
	for _, u := range b.progress.Open() {
		items -= u.Items.Len()
	}
	return items
}

// Dispatch claims the next clock of a split: one claim for each unit into which the job divides the clock. They rely on
// a record. They are sent to their holder, unless the dispatch only repeats what another controller has sent.
func (b *Book) Dispatch(s bellows.SplitID, args []float64, commit bellows.CommitNumber, holder bellows.NodeID,
	repeats bool,
) {
	withheld := repeats || b.moves.recalled(s) && !planted.On("dispatched-while-recalled")
	u := bellows.Unit{Split: s, Clock: b.next[s]}
	all, n := b.job.Items(s, u.Clock), b.job.UnitsOf(s, u.Clock)
	for i := range n {
		u.Items = all.Part(i, n)
		b.Claim(u, args, commit, holder, !withheld)
	}
}

// Claim adds the claim of a unit. It is sent to the holder, or only noted.
func (b *Book) Claim(u bellows.Unit, args []float64, commit bellows.CommitNumber, holder bellows.NodeID, send bool) {
	b.horizon = max(b.horizon, u.Clock)
	b.next[u.Split] = u.Clock + 1
	b.count++
	if u.Items.Len() > 0 {
		b.training++
	}
	b.out[u.Split].add(u, args, commit, holder)
	if send {
		b.messages.messageTo(holder, commit).Append(u, args)
	}
}

// ClaimAll adds the claims of tasks that were out in a saved state, for the nodes that run their splits. They are sent,
// or only noted.
func (b *Book) ClaimAll(tasks []journal.Out, r *route.Route, send bool) {
	for i := range tasks {
		t := &tasks[i]
		b.Claim(t.Unit, t.Args, t.Commit, r.Node(t.Unit.Split), send)
	}
}

// Complete counts a unit that its holder has finished. It refuses one that is not a claim of that node, or is not the
// next of its split.
func (b *Book) Complete(u bellows.Unit, by bellows.NodeID) error {
	c, found, err := b.complete(u)
	if err == nil && found && c.Holder != by {
		return fmt.Errorf("split %d is node %d's", u.Split, c.Holder)
	}
	return err
}

// Replay counts a unit that counts by a record of another controller.
func (b *Book) Replay(u bellows.Unit) error {
	_, _, err := b.complete(u)
	return err
}

// complete counts a unit, and removes its claim.
func (b *Book) complete(u bellows.Unit) (c Claim, found bool, err error) {
	if err := b.progress.Check(u); err != nil {
		return c, false, err
	}
	// A part of a unit is refused too: the driver would take it for the whole.
	i := b.out[u.Split].find(&u)
	if found = i >= 0; found {
		c = b.out[u.Split].remove(i)
	} else if !planted.On("overlap-accepted") {
		return c, false, fmt.Errorf("%v was not dispatched", u)
	}
	b.progress.Commit(u)
	return c, found, nil
}

// Settle takes note that the driver is given the result of a unit that counts. It reports whether the unit is the last
// of its clock.
func (b *Book) Settle(u *bellows.Unit) (last bool) {
	b.count--
	if u.Items.Len() > 0 {
		b.training--
	}
	return u.Items.End == b.job.Items(u.Split, u.Clock).End || planted.On("unit-taken-for-clock")
}

// firstBehind returns the split of the first unit that is early: another unit of the split was dispatched
// before, does not count, and is not in the flush before it. False: the turn of all has come.
func (b *Book) firstBehind(results []wire.Result) (bellows.SplitID, bool) {
	for i := range results {
		u := &results[i].Unit
		if int(u.Split) >= len(b.out) || planted.On("overlap-accepted") ||
			u.Clock == b.progress.Split(u.Split)+1 && planted.On("unit-before-its-turn") {
			continue
		}
		before := b.out[u.Split].find(u)
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

// Claims returns every claim that is out: those of a split in the order of their dispatch, and all in the order of the
// records on which they rely.
func (b *Book) Claims() []Claim {
	all := slices.Concat(b.out...)
	slices.SortStableFunc(all, func(a, b Claim) int { return cmp.Compare(a.Commit, b.Commit) })
	return all
}

// Uncounted returns how many claims are out of a split.
func (b *Book) Uncounted(s bellows.SplitID) int { return len(b.out[s]) }

// Resume continues from the clocks that a saved run has completed, and the units of the next ones that count. The
// claims of the rest are added by ClaimAll.
func (b *Book) Resume(complete []bellows.Clock, open []bellows.Unit) error {
	if planted.On("saved-units-forgotten") {
		open = nil
	}
	if err := b.progress.Restore(complete, open); err != nil {
		return err
	}
	for i, clock := range complete {
		b.next[i] = clock + 1
	}
	return nil
}

// Restore continues, after Resume, from a saved state of a controller that is to be replaced.
func (b *Book) Restore(from *journal.Saved) { b.horizon = from.Horizon }

// Save adds to a saved state what the book knows.
func (b *Book) Save(to *journal.Saved) {
	to.Open, to.Horizon = b.progress.Open(), b.horizon
	for _, c := range b.Claims() {
		c.Args = slices.Clone(c.Args)
		to.Out = append(to.Out, c.Out)
	}
}

// Completed returns the last clock that each split has completed.
func (b *Book) Completed() (clocks []bellows.Clock) {
	for i := range b.next {
		clocks = append(clocks, b.progress.Split(bellows.SplitID(i)))
	}
	return clocks
}

// RedispatchAll sends all claims to their holders once more, in the order of the records on which they rely.
func (b *Book) RedispatchAll() {
	for _, c := range b.Claims() {
		b.messages.messageTo(c.Holder, c.Commit).Append(c.Unit, c.Args)
	}
}
