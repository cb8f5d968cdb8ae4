package lists

// Spare keeps objects for their next use, so that a step allocates nothing after as many have been made as are in use
// at one time. One goroutine at a time uses it.
type Spare[T any] struct{ free []*T }

// Get returns an object as it was put, or a new one.
func (s *Spare[T]) Get() *T {
	last := len(s.free) - 1
	if last < 0 {
		return new(T)
	}
	x := s.free[last]
	s.free = s.free[:last]
	return x
}

// Put keeps an object.
func (s *Spare[T]) Put(x *T) { s.free = append(s.free, x) }
