package wire

import "sync"

// Pools of messages, so that a steady state allocates none. The slices of a freed message keep their
// capacity and lose their length.
var (
	pools [1 << 8]sync.Pool // by kind
	views sync.Pool         // of Rows with values in payloads, so that the others keep the memory of theirs
)

// recycled is a message that a job sends all the time: when it is freed it is used again.
type recycled interface {
	Message
	// recycle gives back what the message borrowed and empties it. It says which pool takes it: none while it has other receivers.
	recycle() *sync.Pool
}

// New is an empty message, with room kept from an earlier one of its kind.
func New[T any, M interface {
	*T
	recycled
}]() *T {
	var m M
	if m, ok := pools[m.kind()].Get().(M); ok {
		return m
	}
	return new(T)
}

// fromPool is New for a table.
func fromPool[T any, M interface {
	*T
	recycled
}]() Message {
	return M(New[T, M]())
}

// made is a new message of a kind that has no pool.
func made[T any, M interface {
	*T
	Message
}]() Message {
	return M(new(T))
}

// newView is an empty message whose values will lie in a payload.
func newView() Message {
	if m, ok := views.Get().(*Rows); ok {
		return m
	}
	return new(Rows)
}

// Free gives a message back. Slices that it borrowed are forgotten, not kept.
func Free(m Message) {
	if m, ok := m.(recycled); ok {
		if pool := m.recycle(); pool != nil {
			pool.Put(m)
		}
	}
}
