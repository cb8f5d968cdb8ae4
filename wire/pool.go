package wire

import "sync"

// Pools of messages, so that a steady state allocates none. The slices of a freed message keep their
// capacity and lose their length.
var (
	pulls      = pool[Pull]{}
	rows       = pool[Rows]{}
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

// NewPull is an empty Pull with room kept from earlier ones; likewise the other constructors.
func NewPull() *Pull           { return pulls.get() }
func NewRows() *Rows           { return rows.get() }
func NewAcquire() *Acquire     { return acquires.get() }
func NewGranted() *Granted     { return grants.get() }
func NewRelease() *Release     { return releases.get() }
func NewPush() *Push           { return pushes.get() }
func NewHeld() *Held           { return helds.get() }
func NewCommitted() *Committed { return committeds.get() }
func NewDone() *Done           { return dones.get() }
func NewRecords() *Records     { return records.get() }
func NewDispatch() *Dispatch   { return dispatches.get() }

// Free gives a message back. Slices that it borrowed are forgotten, not kept.
func Free(m Message) {
	switch m := m.(type) {
	case *Pull:
		clear(m.Parts)
		*m = Pull{Parts: m.Parts[:0]}
		pulls.p.Put(m)
	case *Rows:
		*m = Rows{Parts: m.Parts[:0]}
		rows.p.Put(m)
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
func (*Dispatch) message()  {}
func (*End) message()       {}
func (*Closed) message()    {}
