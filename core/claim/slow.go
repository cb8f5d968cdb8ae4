package claim

import (
	"fmt"

	"bellows"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// computing is what a node has reported of a unit that it computes for long.
type computing struct {
	clock       bellows.Clock
	millis      int64 // how long it had computed
	heardMillis int64 // when that was reported
}

// TakeComputing takes note of a unit that a node computes for long. The node reports it again while it lasts.
func (b *Book) TakeComputing(m *wire.Computing, nowMillis int64) {
	if b.computes == nil {
		b.computes = make([]computing, len(b.next))
	}
	b.computes[m.Unit.Split] = computing{m.Unit.Clock, m.Millis, nowMillis}
}

// ForgetComputing forgets what a node that is lost has reported of a split.
func (b *Book) ForgetComputing(s bellows.SplitID) {
	if b.computes != nil {
		b.computes[s] = computing{}
	}
}

// Slowest returns the split that is furthest behind, its clock, and how many splits there are: it compares splits that
// have a clock out.
func (b *Book) Slowest() (s bellows.SplitID, clock bellows.Clock, splits int) {
	for i := range b.next {
		at := b.progress.Split(bellows.SplitID(i)) + 1
		if at >= b.next[i] {
			continue
		}
		if splits++; splits == 1 || at < clock {
			s, clock = bellows.SplitID(i), at
		}
	}
	return s, clock, splits
}

// NameSlowest names the unit that keeps the slowest split from the end of its clock (Culprit), and says how many splits
// have a clock out.
func (b *Book) NameSlowest(r *route.Route, nowMillis, youngMillis int64) (name string, splits int) {
	s, clock, splits := b.Slowest()
	s, clock = b.Culprit(s, clock, r, nowMillis, youngMillis)
	return fmt.Sprintf("split %d clock %d on node %d", s, clock, r.Node(s)), splits
}

// Culprit returns which unit keeps a split from the end of a clock. It is the one that the split's node has computed
// for longest, as it reports: the others wait there for it, even with what they have finished. A node without a report
// that is younger than a time is silent, or computes nothing for long; then it is the split itself.
func (b *Book) Culprit(s bellows.SplitID, clock bellows.Clock, r *route.Route, nowMillis, youngMillis int64) (
	bellows.SplitID, bellows.Clock,
) {
	node, longest := r.Node(s), int64(0)
	for i := range b.computes {
		split, c := bellows.SplitID(i), &b.computes[i]
		fresh := nowMillis-c.heardMillis <= youngMillis && c.clock > b.progress.Split(split) && c.clock < b.next[split]
		if fresh && c.millis > longest && r.Node(split) == node && !planted.On("neighbour-named") {
			longest = c.millis
			s, clock = split, c.clock
		}
	}
	return s, clock
}
