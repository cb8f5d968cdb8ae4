package wire

import (
	"sync"

	"bellows/wire/internal/memory"
)

// Pools of messages, so that a steady state allocates none. The slices of a freed message keep their
// capacity and lose their length.
var (
	pulls      = pool[Pull]{}
	rows       = pool[Rows]{}
	views      = pool[Rows]{} // with values in payloads, so that the others keep the memory of theirs
	acquires   = pool[Acquire]{}
	grants     = pool[Granted]{}
	releases   = pool[Release]{}
	pushes     = pool[Push]{}
	helds      = pool[Held]{}
	committeds = pool[Committed]{}
	dones      = pool[Done]{}
	records    = pool[Records]{}
	dispatches = pool[Dispatch]{}
)

type pool[T any] struct{ p sync.Pool }

func (p *pool[T]) get() *T {
	if m, ok := p.p.Get().(*T); ok {
		return m
	}
	return new(T)
}

// recycled is the messages that a job sends all the time.
type recycled interface {
	Pull | Rows | Acquire | Granted | Release | Push | Held | Committed | Done | Records | Dispatch
}

// New is an empty message, with room kept from an earlier one of its kind.
func New[T recycled]() *T {
	var m any
	switch any((*T)(nil)).(type) {
	case *Pull:
		m = pulls.get()
	case *Rows:
		m = rows.get()
	case *Acquire:
		m = acquires.get()
	case *Granted:
		m = grants.get()
	case *Release:
		m = releases.get()
	case *Push:
		m = pushes.get()
	case *Held:
		m = helds.get()
	case *Committed:
		m = committeds.get()
	case *Done:
		m = dones.get()
	case *Records:
		m = records.get()
	case *Dispatch:
		m = dispatches.get()
	}
	return m.(*T)
}

// Free gives a message back. Slices that it borrowed are forgotten, not kept.
func Free(m Message) {
	switch m := m.(type) {
	case *Pull:
		clear(m.Parts)
		memory.Put(m.payload)
		*m = Pull{Parts: m.Parts[:0]}
		pulls.p.Put(m)
	case *Rows:
		freeRows(m)
	case *Acquire:
		acquires.p.Put(m)
	case *Granted:
		memory.Put(m.payload)
		*m = Granted{}
		grants.p.Put(m)
	case *Release:
		releases.p.Put(m)
	case *Push:
		clear(m.Chunks)
		clear(m.Leases)
		memory.Put(m.payload)
		if m.Done != nil {
			Free(m.Done)
		}
		*m = Push{Pairs: m.Pairs[:0], Chunks: m.Chunks[:0], Leases: m.Leases[:0], widened: m.widened.free()}
		pushes.p.Put(m)
	case *Held:
		helds.p.Put(m)
	case *Committed:
		m.List = m.List[:0]
		committeds.p.Put(m)
	case *Done:
		*m = Done{Pairs: m.Pairs[:0], Results: m.Results[:0], numbers: m.numbers[:0]}
		dones.p.Put(m)
	case *Records:
		freeRecords(m)
	case *Dispatch:
		*m = Dispatch{Tasks: m.Tasks[:0], args: m.args[:0]}
		dispatches.p.Put(m)
	}
}

// freeRecords takes a message back from the last of its receivers.
func freeRecords(m *Records) {
	if m.more.Add(-1) >= 0 {
		return
	}
	kept := m.encoded.batch
	*m = Records{List: m.List[:0], units: m.units[:0]}
	m.encoded.batch = kept
	records.p.Put(m)
}

func freeRows(m *Rows) {
	memory.Put(m.lent)
	if m.payload == nil {
		*m = Rows{Parts: m.Parts[:0]}
		rows.p.Put(m)
		return
	}
	memory.Put(m.payload)
	clear(m.Parts)
	*m = Rows{Parts: m.Parts[:0], widened: m.widened.free()}
	views.p.Put(m)
}

func (*Pull) message()        {}
func (*Rows) message()        {}
func (*Acquire) message()     {}
func (*Granted) message()     {}
func (*Release) message()     {}
func (*Push) message()        {}
func (*Unsubscribe) message() {}
func (*Held) message()        {}
func (*Full) message()        {}
func (*Room) message()        {}
func (*Committed) message()   {}
func (*Refused) message()     {}
func (*Done) message()        {}
func (*Failed) message()      {}
func (*Beat) message()        {}
func (*Records) message()     {}
func (*Keep) message()        {}
func (*Staleness) message()   {}
func (*Dispatch) message()    {}
func (*End) message()         {}
func (*Closed) message()      {}
func (*Collect) message()     {}
func (*Slab) message()        {}
func (*Collected) message()   {}
func (*Ready) message()       {}
func (*Notice) message()      {}
func (*Severed) message()     {}
