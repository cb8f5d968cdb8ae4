package wire

import "sync"

// Pools of messages, so that a steady state allocates none (TestAllocs). The slices of a freed message keep their
// capacity and lose their length.
//
// A message has one owner at a time: its maker, then the batch or the mailbox that it was given to, then its receiver,
// which frees it. Freed twice it would have two senders, so no one frees a message that another may still use. A
// message with several receivers counts them (Records), and a push belongs to its client until it is committed. recycle
// must drop every slice that is not the message's own, and give back the payload that it uses; TestLent, TestBorrowed
// and TestFreedViews check that by what the next user finds in the pool.
//
// Rows have two pools. Those that a lane makes bring memory for values, while those that were decoded have their values
// in a payload that goes elsewhere. In one pool the second kind would soon replace the first, and every answer of a
// lane would allocate again.
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

// New returns an empty message, with room kept from an earlier one of its kind.
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

// made returns a new message of a kind that has no pool.
func made[T any, M interface {
	*T
	Message
}]() Message {
	return M(new(T))
}

// newView returns an empty message whose values will lie in a payload.
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
