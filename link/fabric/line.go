package fabric

// line is a queue. One that never is empty moves to the front when half of it is behind head and it would grow: it takes no more memory for never ending
// (TestALineThatNeverEndsTakesNoMemory). It has no lock of its own.
type line[T any] struct {
	list []*T
	head int // of list: the first
}

// join puts somebody behind the others.
func (l *line[T]) join(one *T) {
	if l.head > len(l.list)/2 && len(l.list) == cap(l.list) {
		l.list, l.head = l.list[:copy(l.list, l.list[l.head:])], 0
	}
	l.list = append(l.list, one)
}

// next takes the first out; nil: there is none.
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

// len is how many are in the line.
func (l *line[T]) len() int { return len(l.list) - l.head }
