package client

// spare keeps objects for their next use, so that a step allocates nothing once as many have been
// made as are needed at a time (TestKeysThatComeAllocateNothing). The client is stepped by one
// goroutine at a time: a list will do.
type spare[T any] []*T

// get gives an object as it was put, or a new one.
func (s *spare[T]) get() *T {
	n := len(*s)
	if n == 0 {
		return new(T)
	}
	x := (*s)[n-1]
	*s = (*s)[:n-1]
	return x
}

func (s *spare[T]) put(x *T) { *s = append(*s, x) }

// spares are the client's.
type spares struct {
	bundles   spare[bundle]
	writeSets spare[writeSet]
	flushes   spare[flush]
	blocks    spare[block]
	answers   spare[answer]
}
