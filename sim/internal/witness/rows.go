package witness

import (
	"fmt"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/model"
	"bellows/table"
)

// Sum holds a row of sums, which is BSP, against the model, bit by bit: what the clock before has left, and what the task itself has added.
// Such a value, exact clock by clock, cannot go back.
func (t *Task) Sum(row int, got []float32) {
	d := [model.SumWidth]float32{}
	mine := t.added[model.Sums] && t.w.Job.TouchesSum(t.unit, row)
	if mine {
		own, other := t.w.Job.Cells(t.unit.Split, t.unit.Clock)
		at := t.w.Job.SumsAt[t.unit.Clock]
		d = t.sumDelta(row, at[own*model.SumWidth], at[other*model.SumWidth])
	}
	for col, v := range got {
		want := t.w.Job.SumsAt[t.unit.Clock][row*model.SumWidth+col]
		if mine {
			want = float32(want + d[col])
		}
		if v != want {
			t.violated("P4, P7: %v reads sums[%d,%d] = %v; under BSP it is %v", t, row, col, v, want)
		}
	}
}

// Weights holds a row of weights against the model: exactly under BSP, else one of the versions that the task may see, and none
// before the one that its split has seen.
func (t *Task) Weights(row int, got [model.WeightWidth]float32) {
	o, j, c := t.w.oracle, t.w.Job, t.unit.Clock
	if j.Barrier() {
		if want := [model.WeightWidth]float32(j.WeightsAt[c][row*model.WeightWidth:]); got != want {
			t.violated("P4, P7: %v reads weights[%d] = %v; under BSP it is %v", t, row, got, want)
		}
		return
	}
	need := o.Dispatched[t.unit.Split][c]
	if clock := j.Schemas[model.Weights].Consistency.Needs(c); clock != bellows.NoClock {
		if int(clock) >= len(o.ClockAt) {
			t.violated("P4: %v reads weights before clock %d is complete", t, clock)
			return
		}
		need = max(need, o.ClockAt[clock])
	}
	read := func() string { return fmt.Sprintf("weights[%d] = %v", row, got) }
	t.version("P4", read, o.Rows[row], need, &t.seen().weights[row], func(v model.Version) bool { return v.Values == got })
}

// version holds what the task reads of something that has versions against them: it is one from a commit on, and none before the one that its split
// has seen. It reports whether that is so.
func (t *Task) version(promise string, read func() string, list []model.Version, from bellows.CommitNumber, seen *int, is func(model.Version) bool) bool {
	at := place(list, model.VersionAt(list, from), is)
	if at < 0 {
		t.violated(promise+": %v reads %s, which no version from commit %d on is: %v", t, read(), from, list)
		return false
	}
	if at < *seen {
		at = place(list, *seen, is)
	}
	if at < 0 {
		t.violated("P3: %v reads %s; its split has seen version %d: %v", t, read(), *seen, list)
		return false
	}
	*seen = at
	return true
}

// place returns where the first version from some place on is that a test finds, or -1.
func place(list []model.Version, from int, is func(model.Version) bool) int {
	for i := from; i < len(list); i++ {
		if is(list[i]) {
			return i
		}
	}
	return -1
}

// Columns holds a row of counts or free against the model: the task's own column exactly (P2), the
// others between what the task must see and what is recorded, and never back (P3).
func (t *Task) Columns(tab bellows.TableID, row int, values []float32) {
	need, known := t.mustSee(tab), t.maySee(tab)
	seen := &t.seen().columns[tab-model.Counts][row]
	name := t.w.Job.Schemas[tab].Name
	for split := range t.w.Job.Splits {
		n := int32(values[split])
		if tab == model.Counts {
			n = table.Counts(values)[split]
		}
		added := t.w.Job.Columns(tab)[split][row]
		if split == int(t.unit.Split) {
			if own := t.visible(tab, func(n model.Step) int32 { return added[n] }); n != own {
				t.violated("P2: %v reads its own column of %s[%d] = %d; it has added %d", t, name, row, n, own)
			}
			continue
		}
		t.number(name, row, split, n, added[need[split]], added[known[split]], seen[split])
		seen[split] = n
	}
}

// number holds what a split has added to a row against what the task must see and what there is, and against what its split has seen.
func (t *Task) number(name string, row, split int, n, least, most, seen int32) {
	switch {
	case n < least:
		t.violated("P2, P4: %v reads %s[%d,%d] = %d; it must see %d", t, name, row, split, n, least)
	case n > most:
		t.violated("P1, P2: %v reads %s[%d,%d] = %d; only %d is recorded", t, name, row, split, n, most)
	case n < seen:
		t.violated("P3: %v reads %s[%d,%d] = %d; its split has seen %d", t, name, row, split, n, seen)
	}
}

// Word holds a row of words against the model, as Columns does. Where its rule does not just add, a split sees what it has added from the commit
// on, as it sees what others have. Where it adds, a unit of a divided clock sees its own additions, and no other unit of that clock does.
func (t *Task) Word(row int, values []float32) {
	need, known := t.mustSee(model.Words), t.maySee(model.Words)
	seen := &t.seen().words[row]
	for split, v := range values {
		added := func(n model.Step) int32 { return t.w.Job.WordAdded(split, row, n) }
		n, least, most := int32(v)-model.WordStart, added(need[split]), added(known[split])
		if split == int(t.unit.Split) && t.w.Job.WordsAdd() {
			least = t.visible(model.Words, added)
			t.number("words", row, split, n, least, least, least)
			continue
		}
		t.number("words", row, split, n, least, most, seen[split])
		seen[split] = n
	}
}

// State holds a row of state against the model: column 0 is a version that a lease left, column 1
// has the task's own additions and those of others that it must see.
func (t *Task) State(row int, held, added float32) {
	o := t.w.oracle
	known := o.Dispatched[t.unit.Split][t.unit.Clock]
	if t.w.Bound(model.State, t.unit.Clock) == table.BSP {
		if known = 0; t.unit.Clock > 0 {
			known = o.ClockAt[t.unit.Clock-1]
		}
	}
	is := func(v model.Version) bool { return v.Values[row%model.StateRows] == held }
	read := func() string { return fmt.Sprintf("state[%d,0] = %v", row, held) }
	if !t.version("leases", read, o.Parts[row/model.StateRows], known, &t.seen().held[row], is) {
		return
	}
	least, most := t.mustSee(model.State), t.maySee(model.State)
	own := t.steps(model.State)
	least[t.unit.Split], most[t.unit.Split] = own, own
	added -= float32(t.self(model.State, func(n model.Step) int32 { return t.w.Job.OwnTotal(row, t.unit.Split, n) }))
	t.total(row, added, &least, &most)
	t.others(row, int32(added)-t.w.Job.OwnTotal(row, t.unit.Split, own))
}

// total holds column 1 of a row of state against the model.
func (t *Task) total(row int, got float32, least, most *[model.SplitsMax]model.Step) {
	a, b := t.w.Job.Total(row, least), t.w.Job.Total(row, most)
	if int32(got) < a || int32(got) > b {
		t.violated("P2, P4: %v reads state[%d,1] = %v; it must be between %d and %d", t, row, got, a, b)
	}
}

// others sees that what other splits have added to column 1 of a row of state does not go back.
func (t *Task) others(row int, n int32) {
	was := &t.seen().others[row]
	if n < *was {
		t.violated("P3: %v reads %d of others in state[%d,1]; its split has seen %d", t, n, row, *was)
	}
	*was = n
}

// Slab holds a partition just leased, in a version, against the model: it is what the last lease left, and no older than what the split has read.
// Nothing that the split reads later may be older than the slab.
func (t *Task) Slab(p bellows.PartitionID, v []float32, at wire.Need) {
	t.Block(bellows.PartitionRef{Table: model.State, Partition: p}, at)
	o := t.w.oracle
	want := model.Last(o.Parts[p]).Values
	least, most := t.mustSee(model.State), t.maySee(model.State)
	own := t.step // what the task itself adds comes with its flush
	if t.w.Bound(model.State, t.unit.Clock) == table.BSP {
		own = t.w.Job.Steps(int(t.unit.Split), t.unit.Clock) // and what its clock adds, with the clock
	}
	least[t.unit.Split], most[t.unit.Split] = own, own
	for i := range model.StateRows {
		row := int(p)*model.StateRows + i
		if v[i*model.StateWidth] != want[i] {
			t.violated("leases: %v leases state/p%d with %v in row %d; the last lease left %v", t, p, v[i*model.StateWidth], i, want[i])
		}
		got := v[i*model.StateWidth+1]
		t.total(row, got, &least, &most)
		if n := int32(got) - t.w.Job.OwnTotal(row, t.unit.Split, own); n < t.seen().others[row] {
			t.violated("P3: %v leases state/p%d with %d of others in row %d of column 1; its split has seen %d", t, p, n, i, t.seen().others[row])
		} else {
			t.seen().others[row] = n
		}
		t.seen().held[row] = len(o.Parts[p]) - 1
	}
}

// Committed records that the client of a commit's splits knows its number: the next tasks of these splits see what
// their exclusive leases left. A task that runs continues with what it has read.
func (w *Witness) Committed(n bellows.CommitNumber) {
	for _, u := range w.oracle.Log[n-1].Units {
		w.splits[u.Split].told = append(w.splits[u.Split].told, n)
	}
}

// begins takes note, for a task that begins, of what exclusive leases of its split have left in the commits that its client knows. It may learn of
// a later one before an earlier one, from another lane.
func (t *Task) begins() {
	seen := t.seen()
	for _, n := range seen.told {
		for _, u := range t.w.oracle.Log[n-1].Units {
			for _, l := range t.w.Job.Leases(u) {
				for i := 0; u.Split == t.unit.Split && l.Mode == wire.Exclusive && i < model.StateRows; i++ {
					was := &seen.held[int(l.Partition)*model.StateRows+i]
					*was = max(*was, model.VersionAt(t.w.oracle.Parts[l.Partition], n))
				}
			}
		}
	}
	seen.told = seen.told[:0]
}
