package steps

import (
	"slices"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/model"
)

// span draws a few consecutive rows of a table, once for each step.
func (s *Script) span(rows int) (first, end int) {
	if !s.drawn {
		s.drawn = true
		s.first = s.of.Rng.IntN(rows)
		s.end = s.first + 1 + s.of.Rng.IntN(min(rows-s.first, 1<<s.of.Rng.IntN(5)))
	}
	return s.first, s.end
}

// drawRows draws a few rows of a table, ascending, once for each step.
func (s *Script) drawRows(rows int) []bellows.RowID {
	if !s.drawn {
		s.drawn = true
		s.list = s.list[:0]
		for r := s.of.Rng.IntN(rows); r < rows; r += 1 + s.of.Rng.IntN(rows) {
			s.list = append(s.list, bellows.RowID(r))
		}
	}
	return s.list
}

// prefetch asks for rows or keys of a table that a later step of the task may read, and waits for nothing.
func prefetch(s *Script) bool {
	w := s.of
	w.Coverage.Hit("rows-asked-for-ahead")
	first := model.Sums
	if w.Job.Loose {
		first = model.Counts
	}
	t := first + bellows.TableID(w.Chances.IntN(int(model.Tables-first)))
	if t == model.Words {
		var keys []bellows.Key
		for _, row := range w.Job.Vocabulary(s.unit.Split, nil) {
			keys = append(keys, w.Job.Word(int(row)))
		}
		s.task.Group(t, keys)
		s.client.PrefetchKeys(s.task, s.fx)
		return true
	}
	rows := w.Job.Schemas[t].Rows
	at := w.Chances.IntN(rows)
	s.client.Prefetch(s.task, t, bellows.RowID(at), bellows.RowID(at+1+w.Chances.IntN(rows-at)), s.fx)
	return true
}

// zeros returns memory for a step that takes no other of it.
func (w *Life) zeros(n int) []float32 {
	w.numbers = slices.Grow(w.numbers[:0], n)[:n]
	clear(w.numbers)
	return w.numbers
}

// view reads consecutive rows; nil: the task must wait.
func (s *Script) view(t bellows.TableID, first, end int) []float32 {
	if !s.client.Read(s.task, t, bellows.RowID(first), bellows.RowID(end), s.fx) {
		return nil
	}
	v := s.task.View(t, bellows.RowID(first), bellows.RowID(end))
	s.list = s.list[:0]
	for r := first; r < end; r++ {
		s.list = append(s.list, bellows.RowID(r))
	}
	s.checkBlocks(t, s.list)
	s.sum.Values(v)
	return v
}

// gather reads rows anywhere; nil: the task must wait.
func (s *Script) gather(t bellows.TableID, rows []bellows.RowID) []float32 {
	if !s.client.ReadRows(s.task, t, rows, s.fx) {
		return nil
	}
	v := s.of.zeros(len(rows) * s.of.Job.Schemas[t].Width)
	s.task.Gather(t, rows, v)
	s.checkBlocks(t, rows)
	s.sum.Values(v)
	return v
}

// readCells reads the two rows of sums on which the task's deltas depend.
func readCells(s *Script) bool {
	own, other := s.of.Job.Cells(s.unit.Split, s.unit.Clock)
	rows := append(s.list[:0], bellows.RowID(min(own, other)), bellows.RowID(max(own, other)))
	s.list = rows
	if own == other {
		rows = rows[:1]
	}
	v := s.gather(model.Sums, rows)
	if v == nil {
		return false
	}
	var cells [2]float32
	for i, r := range rows {
		row := v[i*model.SumWidth : (i+1)*model.SumWidth]
		s.see.Sum(int(r), row)
		if int(r) == own {
			cells[0] = row[0]
		}
		if int(r) == other {
			cells[1] = row[0]
		}
	}
	s.see.Cells(cells[0], cells[1])
	return true
}

func readSums(s *Script) bool {
	first, end := s.span(model.SumRows)
	v := s.view(model.Sums, first, end)
	for i := 0; i*model.SumWidth < len(v); i++ {
		s.see.Sum(first+i, v[i*model.SumWidth:(i+1)*model.SumWidth])
	}
	return v != nil
}

func pushSums(s *Script) bool {
	s.push(model.Sums, model.SumRows, func(row int, to []float32) []float32 {
		d := s.see.SumDelta(row)
		return append(to, d[:]...)
	})
	return true
}

func pushWeights(s *Script) bool {
	s.push(model.Weights, model.WeightRows, func(row int, to []float32) []float32 {
		for col := range model.WeightWidth {
			to = append(to, s.of.Job.Gradient(s.unit.Split, s.unit.Clock, row, col))
		}
		return to
	})
	return true
}

// push adds to the rows that the task touches: consecutive ones at once, others one by one.
func (s *Script) push(t bellows.TableID, rows int, deltas func(row int, to []float32) []float32) {
	s.see.Adds(t)
	if s.of.Job.Quiet(s.unit.Split, s.unit.Clock) {
		return
	}
	x := s.of.Job.Touch(t, s.unit.Split, s.unit.Clock, rows)
	d := s.of.zeros(0)
	if x.End > 0 && s.of.Job.Consecutive(t, s.unit) {
		for row := x.First; row < x.End; row++ {
			d = deltas(row, d)
		}
		s.task.AddRange(t, bellows.RowID(x.First), d)
		s.of.numbers = d
		return
	}
	for row := range rows {
		if s.of.Job.Touches(t, s.unit, rows, row) {
			s.task.AddRow(t, bellows.RowID(row), deltas(row, d[:0]))
		}
	}
}

func readWeights(s *Script) bool {
	first, end := s.span(model.WeightRows)
	v := s.view(model.Weights, first, end)
	for i := 0; i*model.WeightWidth < len(v); i++ {
		s.see.Weights(first+i, [model.WeightWidth]float32(v[i*model.WeightWidth:]))
	}
	return v != nil
}

// readColumns reads rows of a table with a column for each split: consecutive rows, or any.
func readColumns(t bellows.TableID) step {
	return func(s *Script) bool {
		w, rows := s.of.Job.Splits, s.of.Job.Schemas[t].Rows
		if s.at%2 == 0 {
			first, end := s.span(rows)
			v := s.view(t, first, end)
			for i := 0; i*w < len(v); i++ {
				s.see.Columns(t, first+i, v[i*w:(i+1)*w])
			}
			return v != nil
		}
		list := s.drawRows(rows)
		v := s.gather(t, list)
		for i := 0; i*w < len(v); i++ {
			s.see.Columns(t, int(list[i]), v[i*w:(i+1)*w])
		}
		return v != nil
	}
}

// pushColumns adds to the split's column: row by row, or the whole table at once.
func pushColumns(t bellows.TableID) step {
	return func(s *Script) bool {
		j := s.of.Job
		s.see.Adds(t)
		if j.Quiet(s.unit.Split, s.unit.Clock) {
			return true
		}
		all := s.of.zeros(j.Schemas[t].Rows * j.Splits)
		for row := range j.Schemas[t].Rows {
			n := j.Amount(t, s.unit, row)
			to := all[row*j.Splits : (row+1)*j.Splits]
			j.Number(t, to, int(s.unit.Split), n)
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

func readState(s *Script) bool {
	first, end := s.span(model.StateRows * s.of.Job.Splits)
	v := s.view(model.State, first, end)
	for i := 0; i*model.StateWidth < len(v); i++ {
		s.see.State(first+i, v[i*model.StateWidth], v[i*model.StateWidth+1])
	}
	return v != nil
}

func pushState(s *Script) bool {
	if row, n := s.of.Job.StateAdd(s.unit); n > 0 {
		s.see.Adds(model.State)
		s.task.AddRow(model.State, bellows.RowID(row), []float32{0, float32(n)})
	}
	return true
}

// takeLease takes the task's next lease and, if it is exclusive, changes column 0 in place.
func takeLease(s *Script) bool {
	of := s.leases[len(s.slabs)]
	ref := bellows.PartitionRef{Table: model.State, Partition: of.Partition}
	ok, err := s.client.Lease(s.task, ref, of.Mode, s.fx)
	if err != nil {
		s.of.Violated("leases: %v", err)
	}
	if !ok {
		return false
	}
	s.of.Leased(s.node)
	v := s.task.Leased(ref)
	s.see.Slab(of.Partition, v, s.task.Version(ref))
	if of.Mode == wire.Exclusive {
		for row := range model.StateRows {
			v[row*model.StateWidth] = model.Leased(v[row*model.StateWidth], s.unit.Split, s.unit.Clock)
		}
	}
	s.slabs = append(s.slabs, slab{of, v, append([]float32(nil), v...)})
	return true
}
