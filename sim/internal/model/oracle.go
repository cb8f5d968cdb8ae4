package model

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/link/wire"
	"bellows/table"
)

// Oracle is the model of a running job: the controller's records, replayed through the job's functions.
//
// It keeps no tables. The additions of splits depend on (split, unit) alone. A table after any commit thus follows from
// how many units each split has committed by then (DoneAt), and from sums that were made before the first schedule.
// Only values that depend on the order of commits are kept, version by version: weights where they are not BSP (Rows),
// and column 0 of state, which leases change (Parts).
//
// Invariant: Log[i], DoneAt[i+1] and the versions of commit i+1 come together, in the order of the numbers; a record that one lane was
// sent is what every lane is sent, and is held against the log.
type Oracle struct {
	job         *Job
	Log         []known                                    // log[i] is commit i+1
	Flushes     int                                        // of these, flushes
	DoneAt      [][SplitsMax]Step                          // by commit: how many units each split has committed
	ClockAt     []bellows.CommitNumber                     // by clock: the commit that completed it over all splits
	weights     []float32                                  // where weights is not BSP: the table now
	squares     []float32                                  // adagrad's memory
	wordsBefore []float32                                  // the memory of the rule of words as the life before left it; nil: zeros
	Rows        [WeightRows][]Version                      // of weights, where it is not BSP
	Parts       [SplitsMax][]Version                       // of state's column 0, per partition
	Barrier     bool                                       // counts has become BSP
	BarrierFrom bellows.CommitNumber                       // by this commit
	Dispatched  [SplitsMax][ClocksMax]bellows.CommitNumber // what each task must see
}

// known is what the model keeps of a record.
type known struct {
	flush   bellows.FlushID
	control bellows.Control
	Units   []bellows.Unit
	pairs   []wire.Pair
}

// matches reports whether a record has the known content.
func (k *known) matches(r *wire.Record) bool {
	return k.flush == r.Flush && k.control == r.Control && slices.EqualFunc(k.Units, r.Results, func(u bellows.Unit, to wire.Result) bool { return u == to.Unit })
}

// Version is two values as a commit left them, and the rule's memory of them.
type Version struct {
	commit  bellows.CommitNumber
	Values  [2]float32
	squares [2]float32
}

// NewOracle returns the model of a job before its first record.
func NewOracle(j *Job) *Oracle {
	o := &Oracle{job: j, DoneAt: make([][SplitsMax]Step, 1), weights: j.initial(Weights)}
	if j.Schemas[Weights].Rule.Name == "adagrad" {
		o.squares = make([]float32, len(o.weights))
	}
	for r := range o.Rows {
		o.Rows[r] = []Version{{Values: [2]float32(o.weights[r*WeightWidth:])}}
	}
	for p := range o.Parts {
		o.Parts[p] = []Version{{}}
	}
	return o
}

// Again returns the model of the same job in its next life, which continues from here and counts its commits from 1.
func (o *Oracle) Again() *Oracle { return o.AgainAt(bellows.CommitNumber(len(o.Log))) }

// AgainAt returns Again for a life that continues from a commit: later commits are void.
func (o *Oracle) AgainAt(at bellows.CommitNumber) *Oracle {
	n := NewOracle(o.job)
	n.DoneAt[0] = o.DoneAt[at]
	n.ClockAt = make([]bellows.CommitNumber, o.Complete(at))
	for r := range n.Rows {
		v := o.Rows[r][VersionAt(o.Rows[r], at)]
		n.Rows[r] = []Version{{Values: v.Values, squares: v.squares}}
		copy(n.weights[r*WeightWidth:], v.Values[:])
		if n.squares != nil {
			copy(n.squares[r*WeightWidth:], v.squares[:])
		}
	}
	for p := range n.Parts {
		n.Parts[p] = []Version{{Values: o.Parts[p][VersionAt(o.Parts[p], at)].Values}}
	}
	n.Barrier, n.wordsBefore = o.Barrier && at >= o.BarrierFrom, o.wordMemory(at)
	return n
}

// KeptAt returns the record that the kept tables show after a commit: the one before the last KeepTables; 0: none.
func (o *Oracle) KeptAt(at bellows.CommitNumber) bellows.CommitNumber {
	for ; at > 0; at-- {
		if o.Log[at-1].control.Kind == bellows.KeepTables {
			return at - 1
		}
	}
	return 0
}

// Knows reports whether a change of a table's staleness has a number.
func (o *Oracle) Knows(t bellows.TableID) bool {
	return slices.ContainsFunc(o.Log, func(k known) bool { return k.control.Kind == bellows.SetStaleness && k.control.Table == t })
}

// Counts reports whether a flush has a number.
func (o *Oracle) Counts(id bellows.FlushID) bool {
	return slices.ContainsFunc(o.Log, func(k known) bool { return k.flush == id })
}

// Touched returns the newest record up to a commit that touches a partition; 0: none does.
func (o *Oracle) Touched(p bellows.PartitionRef, upTo bellows.CommitNumber) bellows.CommitNumber {
	for i := int(upTo) - 1; i >= 0; i-- {
		k := &o.Log[i]
		if k.control.Kind == bellows.KeepTables || k.control.Kind == bellows.SetStaleness && k.control.Table == p.Table ||
			slices.ContainsFunc(k.pairs, func(q wire.Pair) bool { return q.Ref == p }) {
			return bellows.CommitNumber(i + 1)
		}
	}
	return 0
}

// Forget removes the records after a commit: no node has them any more.
func (o *Oracle) Forget(after bellows.CommitNumber) {
	for _, k := range o.Log[after:] {
		if k.control.Kind == bellows.NoControl {
			o.Flushes--
		}
	}
	o.Log, o.DoneAt = o.Log[:after], o.DoneAt[:after+1]
	o.ClockAt = slices.DeleteFunc(o.ClockAt, func(n bellows.CommitNumber) bool { return n > after })
	for row := range o.Rows {
		o.Rows[row] = o.Rows[row][:VersionAt(o.Rows[row], after)+1]
		v := Last(o.Rows[row])
		copy(o.weights[row*WeightWidth:], v.Values[:])
		if o.squares != nil {
			copy(o.squares[row*WeightWidth:], v.squares[:])
		}
	}
	for p := range o.Parts {
		o.Parts[p] = o.Parts[p][:VersionAt(o.Parts[p], after)+1]
	}
}

// Done returns how many units each split has committed.
func (o *Oracle) Done() *[SplitsMax]Step { return &o.DoneAt[len(o.Log)] }

// Record takes a record that the controller sends, to the first lane or to another.
func (o *Oracle) Record(r *wire.Record) error {
	switch n := int(r.Number); {
	case n <= len(o.Log):
		if old := &o.Log[n-1]; !old.matches(r) {
			return fmt.Errorf("P1: record %d is %v to one lane and %v to another", n, *old, r)
		}
		return nil
	case n > len(o.Log)+1:
		return fmt.Errorf("P1: record %d follows record %d", n, len(o.Log))
	}
	one := known{flush: r.Flush, control: r.Control, pairs: slices.Clone(r.Pairs), Units: make([]bellows.Unit, len(r.Results))}
	for i := range r.Results {
		one.Units[i] = r.Results[i].Unit
	}
	done := *o.Done()
	for _, u := range one.Units {
		if step, fits := o.job.Step(u); !fits || step != done[u.Split] {
			return fmt.Errorf("P1: record %d counts %v; the split has committed %d units", r.Number, u, done[u.Split])
		}
		done[u.Split]++
	}
	o.Log = append(o.Log, one)
	if one.control.Kind == bellows.NoControl {
		o.Flushes++
	}
	o.DoneAt = append(o.DoneAt, done)
	for int(o.Complete(r.Number)) > len(o.ClockAt) {
		o.ClockAt = append(o.ClockAt, r.Number)
	}
	o.learn(r.Number, one.Units)
	return nil
}

// learn takes the versions of rows that a record makes.
func (o *Oracle) learn(number bellows.CommitNumber, units []bellows.Unit) {
	for row := range WeightRows {
		at := row * WeightWidth
		before := Last(o.Rows[row])
		o.job.descend(units, row, o.weights, o.squares)
		after := Version{commit: number, Values: [2]float32(o.weights[at:])}
		if o.squares != nil {
			after.squares = [2]float32(o.squares[at:])
		}
		if after.Values != before.Values || after.squares != before.squares {
			o.Rows[row] = append(o.Rows[row], after)
		}
	}
	for _, u := range units {
		for _, l := range o.job.Leases(u) {
			if l.Mode == wire.Exclusive {
				v := Last(o.Parts[l.Partition])
				for i := range v.Values {
					v.Values[i] = Leased(v.Values[i], u.Split, u.Clock)
				}
				v.commit = number
				o.Parts[l.Partition] = append(o.Parts[l.Partition], v)
			}
		}
	}
}

// Last returns the newest of some versions.
func Last(v []Version) Version { return v[len(v)-1] }

// VersionAt returns the place of the version that a commit number shows.
func VersionAt(v []Version, n bellows.CommitNumber) int {
	i := len(v) - 1
	for v[i].commit > n {
		i--
	}
	return i
}

// Complete returns how many clocks all splits have committed up to a commit.
func (o *Oracle) Complete(n bellows.CommitNumber) bellows.Clock {
	complete := bellows.Clock(o.job.Clocks)
	for s := range o.job.Splits {
		complete = min(complete, o.job.ClocksIn(s, o.DoneAt[n][s]))
	}
	return complete
}

// whole returns how many units each split has committed up to a commit, of the clocks that all splits have.
func (o *Oracle) whole(n bellows.CommitNumber) (done [SplitsMax]Step) {
	complete := o.Complete(n)
	for s := range o.job.Splits {
		done[s] = o.job.Steps(s, complete)
	}
	return done
}

// Table returns a table after exactly the commits up to n, what BSP shows of them, in the values that it holds.
func (o *Oracle) Table(t bellows.TableID, n bellows.CommitNumber) []float32 {
	j := o.job
	switch t {
	case Sums:
		return j.SumsAt[o.Complete(n)]
	case Weights:
		if j.Barrier() {
			return j.WeightsAt[o.Complete(n)]
		}
		var v []float32
		for r := range o.Rows {
			x := o.Rows[r][VersionAt(o.Rows[r], n)].Values
			v = append(v, x[:]...)
		}
		return v
	case State:
		return o.states(n)
	}
	done := o.DoneAt[n]
	if t == Counts && o.Barrier && n >= o.BarrierFrom {
		done = o.whole(n)
	}
	v := make([]float32, j.Schemas[t].Rows*j.Splits)
	for row := range j.Schemas[t].Rows {
		for split := range j.Splits {
			j.Number(t, v[row*j.Splits:(row+1)*j.Splits], split, j.Columns(t)[split][row][done[split]])
		}
	}
	return v
}

// Slots returns the rule's memory of a table after exactly the commits up to n, slot by slot.
func (o *Oracle) Slots(t bellows.TableID, n bellows.CommitNumber) [][]float32 {
	switch {
	case t != Weights || o.squares == nil:
		return nil
	case o.job.Barrier():
		return [][]float32{o.job.squaresAt[o.Complete(n)]}
	}
	var v []float32
	for r := range o.Rows {
		x := o.Rows[r][VersionAt(o.Rows[r], n)].squares
		v = append(v, x[:]...)
	}
	return [][]float32{v}
}

func (o *Oracle) states(n bellows.CommitNumber) []float32 {
	var v []float32
	done := o.DoneAt[n]
	if o.job.Schemas[State].Consistency == table.BSP {
		done = o.whole(n)
	}
	for p := range o.job.Splits {
		x := o.Parts[p][VersionAt(o.Parts[p], n)].Values
		for i, value := range x {
			v = append(v, value, float32(o.job.Total(p*StateRows+i, &done)))
		}
	}
	return v
}

// Columns returns what splits add to a table with a column for each split.
func (j *Job) Columns(t bellows.TableID) prefix {
	if t == Counts {
		return j.countPrefix
	}
	return j.freePrefix
}

// Total returns column 1 of a row of state, when each split has added so many units.
func (j *Job) Total(row int, done *[SplitsMax]Step) int32 {
	sum := int32(0)
	for s := range j.Splits {
		sum += j.statePrefix[s][row][done[s]]
	}
	return sum
}

// OwnTotal returns what one split has added to column 1 of a row of state in its first units.
func (j *Job) OwnTotal(row int, s bellows.SplitID, n Step) int32 {
	return j.statePrefix[s][row][n]
}
