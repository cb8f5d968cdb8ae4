package sim

import (
	"slices"

	"bellows"
	"bellows/sim/internal/model"
)

// readWords reads the rows of some keys, or of those that the split reads again and again, in any order and some twice.
func readWords(s *script) bool {
	if !s.drawn {
		s.some(model.WordRows)
		if s.w.Chance(500) {
			s.list = s.w.Job.Vocabulary(s.unit.Split, s.list[:0])
		}
		s.w.Rng.Shuffle(len(s.list), func(i, k int) { s.list[i], s.list[k] = s.list[k], s.list[i] })
		s.list = append(s.list, s.list[0])
	}
	list := slices.Grow(s.w.keys[:0], len(s.list))[:len(s.list)]
	s.w.keys = list
	for i, row := range s.list {
		list[i] = s.w.Job.Word(int(row))
	}
	s.task.Group(model.Words, list)
	if !s.k.client.ReadKeys(s.task, &s.k.fx) {
		return false
	}
	w := s.w.Job.Splits
	v := s.w.zeros(len(list) * w)
	s.task.GatherKeys(model.Words, list, v)
	for _, k := range list {
		ref := bellows.PartitionRef{Table: model.Words, Partition: s.w.common.Route.Cut(model.Words).FindKey(k)}
		s.see.Block(ref, s.task.Version(ref))
	}
	s.sum.Values(v)
	for i, row := range s.list {
		s.see.Word(int(row), v[i*w:(i+1)*w])
	}
	return true
}

// pushWords adds to the split's column of the rows that the task touches.
func pushWords(s *script) bool {
	j := s.w.Job
	s.see.Adds(model.Words)
	list, deltas := j.WordDeltas(s.unit, s.w.keys[:0], s.w.numbers[:0])
	s.w.keys, s.w.numbers = list, deltas
	s.task.AddKeys(model.Words, list, deltas)
	return true
}
