package sim

import (
	"bellows"
	"bellows/table"
	"bellows/wire"
)

// span draws a few consecutive rows of a table, once for each step.
func (s *script) span(rows int) (first, end int) {
	if !s.drawn {
		s.drawn = true
		s.first = s.w.rng.IntN(rows)
		s.end = s.first + 1 + s.w.rng.IntN(min(rows-s.first, 1<<s.w.rng.IntN(5)))
	}
	return s.first, s.end
}

// some draws a few rows of a table, ascending, once for each step.
func (s *script) some(rows int) []bellows.RowID {
	if !s.drawn {
		s.drawn = true
		s.list = s.list[:0]
		for r := s.w.rng.IntN(rows); r < rows; r += 1 + s.w.rng.IntN(rows) {
			s.list = append(s.list, bellows.RowID(r))
		}
	}
	return s.list
}

// view reads consecutive rows; nil: the task must wait.
func (s *script) view(t bellows.TableID, first, end int) []float32 {
	if !s.k.client.Read(s.task, t, bellows.RowID(first), bellows.RowID(end), &s.k.fx) {
		return nil
	}
	v := s.task.View(t, bellows.RowID(first), bellows.RowID(end))
	s.sum.Values(v)
	return v
}

// gather reads rows anywhere; nil: the task must wait.
func (s *script) gather(t bellows.TableID, rows []bellows.RowID) []float32 {
	if !s.k.client.ReadRows(s.task, t, rows, &s.k.fx) {
		return nil
	}
	v := make([]float32, len(rows)*s.w.job.schemas[t].Width)
	s.task.Gather(t, rows, v)
	s.sum.Values(v)
	return v
}

// readCells reads the two rows of sums on which the task's deltas depend.
func readCells(s *script) bool {
	own, other := s.w.job.cells(s.unit.Split, s.unit.Clock)
	rows := []bellows.RowID{bellows.RowID(min(own, other)), bellows.RowID(max(own, other))}
	if own == other {
		rows = rows[:1]
	}
	v := s.gather(sums, rows)
	if v == nil {
		return false
	}
	for i, r := range rows {
		row := v[i*sumWidth : (i+1)*sumWidth]
		s.checkSum(int(r), row)
		if int(r) == own {
			s.own = row[0]
		}
		if int(r) == other {
			s.other = row[0]
		}
	}
	return true
}

func readSums(s *script) bool {
	first, end := s.span(sumRows)
	v := s.view(sums, first, end)
	for i := 0; i*sumWidth < len(v); i++ {
		s.checkSum(first+i, v[i*sumWidth:(i+1)*sumWidth])
	}
	return v != nil
}

func (s *script) sumDelta(row int) [sumWidth]float32 {
	var d [sumWidth]float32
	for col := range d {
		d[col] = s.w.job.sumDelta(s.unit.Split, s.unit.Clock, row, col, s.own, s.other)
	}
	return d
}

func pushSums(s *script) bool {
	s.push(sums, sumRows, func(row int, to []float32) []float32 {
		d := s.sumDelta(row)
		return append(to, d[:]...)
	})
	return true
}

func pushWeights(s *script) bool {
	s.push(weights, weightRows, func(row int, to []float32) []float32 {
		for col := range weightWidth {
			to = append(to, s.w.job.gradient(s.unit.Split, s.unit.Clock, row, col))
		}
		return to
	})
	return true
}

// push adds to the rows that the task touches: consecutive ones at once, others one by one.
func (s *script) push(t bellows.TableID, rows int, deltas func(row int, to []float32) []float32) {
	s.added[t] = true
	if s.w.job.quiet(s.unit.Split, s.unit.Clock) {
		return
	}
	x := s.w.job.touch(t, s.unit.Split, s.unit.Clock, rows)
	var d []float32
	if x.end > 0 {
		for row := x.first; row < x.end; row++ {
			d = deltas(row, d)
		}
		s.task.AddRange(t, bellows.RowID(x.first), d)
		return
	}
	for row := range rows {
		if s.w.job.touches(t, s.unit.Split, s.unit.Clock, rows, row) {
			s.task.AddRow(t, bellows.RowID(row), deltas(row, d[:0]))
		}
	}
}

func readWeights(s *script) bool {
	first, end := s.span(weightRows)
	v := s.view(weights, first, end)
	for i := 0; i*weightWidth < len(v); i++ {
		s.checkWeights(first+i, [weightWidth]float32(v[i*weightWidth:]))
	}
	return v != nil
}

// readColumns reads rows of a table whose columns belong to splits: consecutive ones, or any.
func readColumns(t bellows.TableID) step {
	return func(s *script) bool {
		w, rows := s.w.job.splits, s.w.job.schemas[t].Rows
		if s.at%2 == 0 {
			first, end := s.span(rows)
			v := s.view(t, first, end)
			for i := 0; i*w < len(v); i++ {
				s.checkColumns(t, first+i, v[i*w:(i+1)*w])
			}
			return v != nil
		}
		list := s.some(rows)
		v := s.gather(t, list)
		for i := 0; i*w < len(v); i++ {
			s.checkColumns(t, int(list[i]), v[i*w:(i+1)*w])
		}
		return v != nil
	}
}

// pushColumns adds to the split's column: row by row, or the whole table at once.
func pushColumns(t bellows.TableID) step {
	return func(s *script) bool {
		j := s.w.job
		s.added[t] = true
		if j.quiet(s.unit.Split, s.unit.Clock) {
			return true
		}
		all := make([]float32, j.schemas[t].Rows*j.splits)
		for row := range j.schemas[t].Rows {
			n := j.amount(t, s.unit.Split, s.unit.Clock, row)
			to := all[row*j.splits : (row+1)*j.splits]
			j.number(t, to, int(s.unit.Split), n)
			if n > 0 && s.unit.Clock%2 == 0 {
				s.task.AddRow(t, bellows.RowID(row), to)
			}
		}
		if s.unit.Clock%2 == 1 {
			s.task.AddRange(t, 0, all)
		}
		return true
	}
}

// number writes a whole number in the table's type.
func (j *job) number(t bellows.TableID, row []float32, col int, n int32) {
	if j.schemas[t].DType == table.Int32 {
		table.Counts(row)[col] = n
		return
	}
	row[col] = float32(n)
}

func readState(s *script) bool {
	first, end := s.span(stateRows * s.w.job.splits)
	v := s.view(state, first, end)
	for i := 0; i*stateWidth < len(v); i++ {
		s.checkState(first+i, v[i*stateWidth], v[i*stateWidth+1])
	}
	return v != nil
}

func pushState(s *script) bool {
	if row, n := s.w.job.stateAdd(s.unit.Split, s.unit.Clock); n > 0 {
		s.added[state] = true
		s.task.AddRow(state, bellows.RowID(row), []float32{0, float32(n)})
	}
	return true
}

// lease takes a lease and, if it is exclusive, changes column 0 in place.
func lease(of leaseOf) step {
	return func(s *script) bool {
		ref := bellows.PartitionRef{Table: state, Partition: of.partition}
		ok, err := s.k.client.Lease(s.task, ref, of.mode, &s.k.fx)
		if err != nil {
			s.w.violated("leases: %v", err)
		}
		if !ok {
			return false
		}
		s.w.enter(s.k.node.id, leaseHeld)
		v := s.task.Leased(ref)
		s.checkSlab(of.partition, v)
		if of.mode == wire.Exclusive {
			for row := range stateRows {
				v[row*stateWidth] = leased(v[row*stateWidth], s.unit.Split, s.unit.Clock)
			}
		}
		s.slabs = append(s.slabs, slab{of, v, append([]float32(nil), v...)})
		return true
	}
}
