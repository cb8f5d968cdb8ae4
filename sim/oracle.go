package sim

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/table"
	"bellows/wire"
)

// oracle is the model of a running job: the controller's records, replayed through the job's functions.
type oracle struct {
	job         *job
	log         []wire.Record                       // log[i] is commit i+1
	doneAt      [][splitsMax]bellows.Clock          // by commit: how many clocks each split has committed
	clockAt     []bellows.CommitNumber              // by clock: the commit that completed it over all splits
	weights     []float32                           // where weights is not BSP: the table now
	squares     []float32                           // adagrad's memory
	rows        [weightRows][]version               // of weights, where it is not BSP
	parts       [splitsMax][]version                // of state's column 0, per partition
	barrier     bool                                // counts has become BSP
	barrierFrom bellows.CommitNumber                // by this commit
	dispatched  [splitsMax][64]bellows.CommitNumber // what each task must see
}

// version is two values as a commit left them.
type version struct {
	commit bellows.CommitNumber
	values [2]float32
}

func newOracle(j *job) *oracle {
	o := &oracle{job: j, doneAt: make([][splitsMax]bellows.Clock, 1), weights: j.initial(weights)}
	if j.schemas[weights].Rule.Name == "adagrad" {
		o.squares = make([]float32, len(o.weights))
	}
	for r := range o.rows {
		o.rows[r] = []version{{0, [2]float32(o.weights[r*weightWidth:])}}
	}
	for p := range o.parts {
		o.parts[p] = []version{{}}
	}
	return o
}

// again is the model of the same job in its next life, which goes on from here and counts its commits from 1.
func (o *oracle) again() *oracle {
	n := newOracle(o.job)
	n.doneAt[0] = *o.done()
	n.clockAt = make([]bellows.CommitNumber, len(o.clockAt))
	n.weights, n.squares = slices.Clone(o.weights), slices.Clone(o.squares)
	for r := range n.rows {
		n.rows[r] = []version{{0, last(o.rows[r]).values}}
	}
	for p := range n.parts {
		n.parts[p] = []version{{0, last(o.parts[p]).values}}
	}
	n.barrier = o.barrier
	return n
}

// done is how many clocks each split has committed.
func (o *oracle) done() *[splitsMax]bellows.Clock { return &o.doneAt[len(o.log)] }

// record takes a record that the controller sends, to the first lane or to another.
func (o *oracle) record(r *wire.Record) error {
	switch n := int(r.Number); {
	case n <= len(o.log):
		if old := o.log[n-1]; old.Flush != r.Flush || !slices.Equal(old.Units, r.Units) {
			return fmt.Errorf("P1: record %d is %v to one lane and %v to another", n, old, r)
		}
		return nil
	case n > len(o.log)+1:
		return fmt.Errorf("P1: record %d follows record %d", n, len(o.log))
	}
	done := *o.done()
	for _, u := range r.Units {
		if u.Clock != done[u.Split] {
			return fmt.Errorf("P1: record %d counts %v; the split has committed %d clocks", r.Number, u, done[u.Split])
		}
		done[u.Split]++
	}
	o.log = append(o.log, wire.Record{Number: r.Number, Flush: r.Flush, Units: slices.Clone(r.Units)})
	o.doneAt = append(o.doneAt, done)
	for int(slices.Min(done[:o.job.splits])) > len(o.clockAt) {
		o.clockAt = append(o.clockAt, r.Number)
	}
	o.learn(r)
	return nil
}

// learn takes the versions of rows that a record makes.
func (o *oracle) learn(r *wire.Record) {
	for row := range weightRows {
		at := row * weightWidth
		before := [2]float32(o.weights[at:])
		o.job.descend(r.Units, row, o.weights, o.squares)
		if after := [2]float32(o.weights[at:]); after != before {
			o.rows[row] = append(o.rows[row], version{r.Number, after})
		}
	}
	for _, u := range r.Units {
		for _, l := range o.job.leases(u.Split, u.Clock) {
			if l.mode == wire.Exclusive {
				v := last(o.parts[l.partition])
				for i := range v.values {
					v.values[i] = leased(v.values[i], u.Split, u.Clock)
				}
				v.commit = r.Number
				o.parts[l.partition] = append(o.parts[l.partition], v)
			}
		}
	}
}

func last(v []version) version { return v[len(v)-1] }

// at is the place of the version that a commit number shows.
func at(v []version, n bellows.CommitNumber) int {
	i := len(v) - 1
	for v[i].commit > n {
		i--
	}
	return i
}

// complete is how many clocks all splits have committed up to a commit.
func (o *oracle) complete(n bellows.CommitNumber) bellows.Clock {
	return slices.Min(o.doneAt[n][:o.job.splits])
}

// table is a table after exactly the commits up to n, what BSP shows of them, in the values that it holds.
func (o *oracle) table(t bellows.TableID, n bellows.CommitNumber) []float32 {
	j := o.job
	switch t {
	case sums:
		return j.sumsAt[o.complete(n)]
	case weights:
		if j.barrier() {
			return j.weightsAt[o.complete(n)]
		}
		var v []float32
		for r := range o.rows {
			x := o.rows[r][at(o.rows[r], n)].values
			v = append(v, x[:]...)
		}
		return v
	case state:
		return o.states(n)
	}
	clocks := o.doneAt[n]
	if t == counts && o.barrier && n >= o.barrierFrom {
		for i := range clocks {
			clocks[i] = o.complete(n)
		}
	}
	v := make([]float32, j.schemas[t].Rows*j.splits)
	for row := range j.schemas[t].Rows {
		for split := range j.splits {
			j.number(t, v[row*j.splits:(row+1)*j.splits], split, j.columns(t)[split][row][clocks[split]])
		}
	}
	return v
}

func (o *oracle) states(n bellows.CommitNumber) []float32 {
	var v []float32
	clocks := o.doneAt[n]
	if o.job.schemas[state].Consistency == table.BSP {
		for i := range clocks {
			clocks[i] = o.complete(n)
		}
	}
	for p := range o.job.splits {
		x := o.parts[p][at(o.parts[p], n)].values
		for i, value := range x {
			v = append(v, value, float32(o.job.total(p*stateRows+i, &clocks)))
		}
	}
	return v
}

// columns is what splits add to a table whose columns are theirs.
func (j *job) columns(t bellows.TableID) prefix {
	if t == counts {
		return j.countPrefix
	}
	return j.freePrefix
}

// total is column 1 of a row of state, when each split has added so many clocks.
func (j *job) total(row int, clocks *[splitsMax]bellows.Clock) int32 {
	sum := int32(0)
	for s := range j.splits {
		sum += j.statePrefix[s][row][clocks[s]]
	}
	return sum
}
