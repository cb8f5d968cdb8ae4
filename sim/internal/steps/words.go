package steps

import (
	"slices"

	"bellows"
	"bellows/sim/internal/model"
)

// readWords reads the rows of some keys, or of those that the split reads again and again, in any order and some twice.
func readWords(s *Script) bool {
	if !s.drawn {
		s.drawRows(model.WordRows)
		if s.of.Chance(500) {
			s.list = s.of.Job.Vocabulary(s.unit.Split, s.list[:0])
		}
		s.of.Rng.Shuffle(len(s.list), func(i, k int) { s.list[i], s.list[k] = s.list[k], s.list[i] })
		s.list = append(s.list, s.list[0])
	}
	list := slices.Grow(s.of.keys[:0], len(s.list))[:len(s.list)]
	s.of.keys = list
	for i, row := range s.list {
		list[i] = s.of.Job.Word(int(row))
	}
	s.task.Group(model.Words, list)
	if !s.client.ReadKeys(s.task, s.fx) {
		return false
	}
	w := s.of.Job.Splits
	v := s.of.zeros(len(list) * w)
	s.task.GatherKeys(model.Words, list, v)
	for _, k := range list {
		ref := bellows.PartitionRef{Table: model.Words, Partition: s.of.Route.Cut(model.Words).FindKey(k)}
		s.see.Block(ref, s.task.Version(ref))
	}
	s.sum.Values(v)
	for i, row := range s.list {
		s.see.Word(int(row), v[i*w:(i+1)*w])
	}
	return true
}

// pushWords adds to the split's column of the rows that the task touches.
func pushWords(s *Script) bool {
	j := s.of.Job
	s.see.Adds(model.Words)
	list, deltas := j.WordDeltas(s.unit, s.of.keys[:0], s.of.numbers[:0])
	s.of.keys, s.of.numbers = list, deltas
	s.task.AddKeys(model.Words, list, deltas)
	return true
}
