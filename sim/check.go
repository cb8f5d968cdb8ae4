package sim

import (
	"bellows"
	"bellows/sim/internal/model"
	"bellows/table"
	"bellows/wire"
)

// watermarks are the most that a split's tasks have read in the columns of counts and free.
type watermarks [2][model.CountRows][model.SplitsMax]int32

// mustSee is how many clocks of every split the task must see in a table (P4 and Litz).
func (s *script) mustSee(t bellows.TableID) [model.SplitsMax]bellows.Clock {
	need := s.w.oracle.DoneAt[s.w.oracle.Dispatched[s.unit.Split][s.unit.Clock]]
	bound := s.w.Bound(t, s.unit.Clock)
	for i := range need {
		switch bound {
		case table.Async:
		case table.BSP: // only whole clocks are visible
			need[i] = s.unit.Clock
		default:
			need[i] = max(need[i], s.unit.Clock-bellows.Clock(bound))
		}
	}
	return need
}

// maySee is how many clocks of every split the task may see in a table.
func (s *script) maySee(t bellows.TableID) [model.SplitsMax]bellows.Clock {
	if s.w.Bound(t, s.unit.Clock) == table.BSP {
		return s.mustSee(t)
	}
	return *s.w.oracle.Done()
}

// checkSum holds a row of sums, which is BSP, against the model, bit by bit.
func (s *script) checkSum(row int, got []float32) {
	d := [model.SumWidth]float32{}
	mine := s.added[model.Sums] && s.w.Job.Touches(model.Sums, s.unit.Split, s.unit.Clock, model.SumRows, row)
	if mine {
		d = s.sumDelta(row)
	}
	for col, v := range got {
		want := s.w.Job.SumsAt[s.unit.Clock][row*model.SumWidth+col]
		if mine {
			want = float32(want + d[col])
		}
		if v != want {
			s.w.violated("P4, P7: %v reads sums[%d,%d] = %v; under BSP it is %v", s, row, col, v, want)
		}
	}
}

// checkWeights holds a row of weights against the model: exactly under BSP, else one of the versions
// that the task may see.
func (s *script) checkWeights(row int, got [model.WeightWidth]float32) {
	o, j, c := s.w.oracle, s.w.Job, s.unit.Clock
	if j.Barrier() {
		if want := [model.WeightWidth]float32(j.WeightsAt[c][row*model.WeightWidth:]); got != want {
			s.w.violated("P4, P7: %v reads weights[%d] = %v; under BSP it is %v", s, row, got, want)
		}
		return
	}
	need := o.Dispatched[s.unit.Split][c]
	if clock := j.Schemas[model.Weights].Consistency.Needs(c); clock != bellows.NoClock {
		if int(clock) >= len(o.ClockAt) {
			s.w.violated("P4: %v reads weights before clock %d is complete", s, clock)
			return
		}
		need = max(need, o.ClockAt[clock])
	}
	if !among(got, o.Rows[row][model.At(o.Rows[row], need):]) {
		s.w.violated("P4: %v reads weights[%d] = %v, which no version from commit %d on is: %v", s, row, got, need, o.Rows[row])
	}
}

func among(got [2]float32, list []model.Version) bool {
	for _, v := range list {
		if v.Values == got {
			return true
		}
	}
	return false
}

// checkColumns holds a row of counts or free against the model: the task's own column exactly (P2), the
// others between what the task must see and what is recorded, and never back (P3).
func (s *script) checkColumns(t bellows.TableID, row int, values []float32) {
	need, known := s.mustSee(t), s.maySee(t)
	seen := &s.k.seen[s.unit.Split][t-model.Counts][row]
	for split := range s.w.Job.Splits {
		n := int32(values[split])
		if t == model.Counts {
			n = table.Counts(values)[split]
		}
		added := s.w.Job.Columns(t)[split][row]
		if split == int(s.unit.Split) {
			clocks := s.unit.Clock
			if s.added[t] {
				clocks++
			}
			if n != added[clocks] {
				s.w.violated("P2: %v reads its own column of %s[%d] = %d; it has added %d", s, s.w.Job.Schemas[t].Name, row, n, added[clocks])
			}
			continue
		}
		least, most := added[need[split]], added[known[split]]
		switch {
		case n < least:
			s.w.violated("P4: %v reads %s[%d,%d] = %d; it must see %d, %d clocks", s, s.w.Job.Schemas[t].Name, row, split, n, least, need[split])
		case n > most:
			s.w.violated("P1: %v reads %s[%d,%d] = %d; only %d is recorded", s, s.w.Job.Schemas[t].Name, row, split, n, most)
		case n < seen[split]:
			s.w.violated("P3: %v reads %s[%d,%d] = %d; its split has seen %d", s, s.w.Job.Schemas[t].Name, row, split, n, seen[split])
		}
		seen[split] = n
	}
}

// checkState holds a row of state against the model: column 0 is a version that a lease left, column 1
// has the task's own additions and those of others that it must see.
func (s *script) checkState(row int, held, added float32) {
	o := s.w.oracle
	versions := o.Parts[row/model.StateRows]
	known := o.Dispatched[s.unit.Split][s.unit.Clock]
	if s.w.Bound(model.State, s.unit.Clock) == table.BSP {
		if known = 0; s.unit.Clock > 0 {
			known = o.ClockAt[s.unit.Clock-1]
		}
	}
	found := false
	for _, v := range versions[model.At(versions, known):] {
		found = found || v.Values[row%model.StateRows] == held
	}
	if !found {
		s.w.violated("leases: %v reads state[%d,0] = %v, which no version from commit %d on is: %v", s, row, held, known, versions)
	}
	least, most := s.mustSee(model.State), s.maySee(model.State)
	own := s.unit.Clock
	if s.added[model.State] {
		own++
	}
	least[s.unit.Split], most[s.unit.Split] = own, own
	s.checkTotal(row, added, &least, &most)
}

func (s *script) checkTotal(row int, got float32, least, most *[model.SplitsMax]bellows.Clock) {
	a, b := s.w.Job.Total(row, least), s.w.Job.Total(row, most)
	if int32(got) < a || int32(got) > b {
		s.w.violated("P2, P4: %v reads state[%d,1] = %v; it must be between %d and %d", s, row, got, a, b)
	}
}

// checkSlab holds a partition just leased against the model: it is what the last lease left, with what the split's earlier tasks have
// added (P2).
func (s *script) checkSlab(p bellows.PartitionID, v []float32) {
	o := s.w.oracle
	want := model.Last(o.Parts[p]).Values
	least, most := s.mustSee(model.State), s.maySee(model.State)
	least[s.unit.Split] = s.unit.Clock
	for i := range model.StateRows {
		if v[i*model.StateWidth] != want[i] {
			s.w.violated("leases: %v leases state/p%d with %v in row %d; the last lease left %v", s, p, v[i*model.StateWidth], i, want[i])
		}
		s.checkTotal(int(p)*model.StateRows+i, v[i*model.StateWidth+1], &least, &most)
	}
}

// checkSlabs sees at a task's end that nobody else has changed what it leased.
func (s *script) checkSlabs() {
	for _, l := range s.slabs {
		for i, v := range l.values {
			if v != l.copy[i] {
				s.w.violated("leases: %v leased state/p%d and value %d changed under it from %v to %v", s, l.Partition, i, l.copy[i], v)
			}
		}
	}
}

// checkVersions sees that what a client is told of a partition never goes back (P3).
func (w *world) checkVersions(to bellows.NodeID, m *wire.Rows) {
	for i := range m.Parts {
		p := &m.Parts[i]
		was := w.ledger.Shown(to, p.Ref)
		if p.Commit < was.Commit || p.Complete < was.Clock {
			w.violated("P3: node %d is shown %v at commit %d, clock %d after commit %d, clock %d", to, p.Ref, p.Commit, p.Complete, was.Commit, was.Clock)
		}
		if int(p.Commit) > len(w.oracle.Log) || int(p.Complete) >= len(w.oracle.ClockAt) {
			w.violated("P1: node %d is shown %v at commit %d, clock %d; neither more than %d nor %d is recorded", to, p.Ref, p.Commit, p.Complete, len(w.oracle.Log), len(w.oracle.ClockAt)-1)
		}
		*was = wire.Need{Commit: p.Commit, Clock: p.Complete}
	}
}
