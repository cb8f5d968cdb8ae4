package wire

import "sync"

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

// NewPull is an empty Pull, with room kept from an earlier one.
func NewPull() *Pull { return pulls.get() }

// NewRows is an empty Rows, with room kept from an earlier one.
func NewRows() *Rows { return rows.get() }

// NewAcquire is an empty Acquire, with room kept from an earlier one.
func NewAcquire() *Acquire { return acquires.get() }

// NewGranted is an empty Granted, with room kept from an earlier one.
func NewGranted() *Granted { return grants.get() }

// NewRelease is an empty Release, with room kept from an earlier one.
func NewRelease() *Release { return releases.get() }

// NewPush is an empty Push, with room kept from an earlier one.
func NewPush() *Push { return pushes.get() }

// NewHeld is an empty Held, with room kept from an earlier one.
func NewHeld() *Held { return helds.get() }

// NewCommitted is an empty Committed, with room kept from an earlier one.
func NewCommitted() *Committed { return committeds.get() }

// NewDone is an empty Done, with room kept from an earlier one.
func NewDone() *Done { return dones.get() }

// NewRecords is an empty Records, with room kept from an earlier one.
func NewRecords() *Records { return records.get() }

// NewDispatch is an empty Dispatch, with room kept from an earlier one.
func NewDispatch() *Dispatch { return dispatches.get() }

// Free gives a message back. Slices that it borrowed are forgotten, not kept.
func Free(m Message) {
	switch m := m.(type) {
	case *Pull:
		clear(m.Parts)
		*m = Pull{Parts: m.Parts[:0]}
		pulls.p.Put(m)
	case *Rows:
		freeRows(m)
	case *Acquire:
		acquires.p.Put(m)
	case *Granted:
		*m = Granted{}
		grants.p.Put(m)
	case *Release:
		releases.p.Put(m)
	case *Push:
		clear(m.Chunks)
		clear(m.Leases)
		givePayload(m.payload)
		*m = Push{Pairs: m.Pairs[:0], Chunks: m.Chunks[:0], Leases: m.Leases[:0]}
		pushes.p.Put(m)
	case *Held:
		helds.p.Put(m)
	case *Committed:
		committeds.p.Put(m)
	case *Done:
		*m = Done{Pairs: m.Pairs[:0], Results: m.Results[:0], numbers: m.numbers[:0]}
		dones.p.Put(m)
	case *Records:
		*m = Records{List: m.List[:0], units: m.units[:0]}
		records.p.Put(m)
	case *Dispatch:
		*m = Dispatch{Tasks: m.Tasks[:0], args: m.args[:0]}
		dispatches.p.Put(m)
	}
}

func freeRows(m *Rows) {
	if m.payload == nil {
		*m = Rows{Parts: m.Parts[:0]}
		rows.p.Put(m)
		return
	}
	givePayload(m.payload)
	clear(m.Parts)
	*m = Rows{Parts: m.Parts[:0]}
	views.p.Put(m)
}

func (*Pull) message()      {}
func (*Rows) message()      {}
func (*Acquire) message()   {}
func (*Granted) message()   {}
func (*Release) message()   {}
func (*Push) message()      {}
func (*Held) message()      {}
func (*Full) message()      {}
func (*Room) message()      {}
func (*Committed) message() {}
func (*Refused) message()   {}
func (*Done) message()      {}
func (*Failed) message()    {}
func (*Beat) message()      {}
func (*Records) message()   {}
func (*Keep) message()      {}
func (*Staleness) message() {}
func (*Dispatch) message()  {}
func (*End) message()       {}
func (*Closed) message()    {}
func (*Collect) message()   {}
func (*Slab) message()      {}
func (*Collected) message() {}
func (*Ready) message()     {}
func (*Notice) message()    {}
func (*Severed) message()   {}
