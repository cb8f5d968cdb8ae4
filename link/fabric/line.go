package fabric

// line is a queue. A queue that is never empty moves to the front of its memory when it would grow and half of it lies
// before head, so that it does not grow for ever (TestEndlessLineTakesNoMemory). It has no lock of its own.
type line[T any] struct {
	list []*T
	head int // of list: the first
}

// join appends one.
func (l *line[T]) join(one *T) {
	if l.head > len(l.list)/2 && len(l.list) == cap(l.list) {
		l.list, l.head = l.list[:copy(l.list, l.list[l.head:])], 0
	}
	l.list = append(l.list, one)
}

// next takes the first out; nil: the line is empty.
func (l *line[T]) next() *T {
	if l.head == len(l.list) {
		return nil
	}
	one := l.list[l.head]
	if l.head++; l.head == len(l.list) {
		l.list, l.head = l.list[:0], 0
	}
	return one
}

// len returns how many are in the line.
func (l *line[T]) len() int { return len(l.list) - l.head }
