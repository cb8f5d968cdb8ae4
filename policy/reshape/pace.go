package reshape

import "bellows/policy/plan"

// pace is how long moves have taken: those of partitions by their bytes, those of splits each, since they wait for a clock to end.
type pace struct {
	bytes, millis int64 // of partitions that moved
	splits        int64
	splitMillis   int64
}

func (p *pace) enter(s *plan.Step, millis int64) {
	switch {
	case s.Kind != plan.Move:
	case s.Split >= 0:
		p.splits++
		p.splitMillis += millis
	default:
		p.bytes += s.Bytes
		p.millis += max(1, millis)
	}
}

// millisOf returns how long a move is thought to take; 0, where none was measured.
func (p *pace) millisOf(s *plan.Step) int64 {
	switch {
	case s.Split >= 0 && p.splits > 0:
		return p.splitMillis / p.splits
	case s.Split < 0 && p.bytes > 0:
		return int64(float64(s.Bytes) * float64(p.millis) / float64(p.bytes))
	}
	return 0
}
