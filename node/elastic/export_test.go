package elastic

import "time"

// Later advances the time, which the machine sees in its next step.
func (s *Shaper) Later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = s.began.Add(-d)
}

// Open returns how many asks wait for their answer, and how many ops are under way.
func (s *Shaper) Open() (waiting, under int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting), len(s.under)
}
