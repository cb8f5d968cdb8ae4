// Package lease is the readers-writer lock of one partition: it keeps which clients hold a shared or exclusive lease
// on it. Any number of tasks share a partition, each reading one version of it, or one task alone writes to it. The
// callers of this lock are messages: wire.Acquire asks for it, wire.Release gives a shared lease back, and the commit
// of the holder's flush an exclusive one.
//
// A lane has one Holders for each of its partitions. In which order it grants what it is asked for,
// and what is neither shown nor applied while a lease is out, is the lane's matter.
package lease

import (
	"slices"

	"bellows/core/planted"
	"bellows/link/wire"
)

// Holders are the clients with leases on one partition. The zero value has none.
//
// Invariants: an exclusive holder is the only one (TestAnExclusiveHolderIsAlone); a lease ends once, by its holder
// (TestALeaseIsItsHoldersToEnd).
type Holders struct {
	shared    []wire.Address // once for each lease
	exclusive bool
	owner     wire.Address // of the exclusive lease
	ending    bool         // what ends the exclusive lease is here, and has no number yet
}

// Free reports whether a lease may be granted.
func (h *Holders) Free(m wire.Mode) bool {
	if planted.On("lease-shared") {
		return true
	}
	return !h.exclusive && (m == wire.Shared || len(h.shared) == 0)
}

// Grant gives a lease that is Free.
func (h *Holders) Grant(m wire.Mode, to wire.Address) {
	if m == wire.Shared {
		h.shared = append(h.shared, to)
		return
	}
	h.exclusive, h.owner, h.ending = true, to, false
}

// Release ends a shared lease, and reports whether there was one.
func (h *Holders) Release(from wire.Address) bool {
	i := slices.Index(h.shared, from)
	if i >= 0 {
		h.shared = slices.Delete(h.shared, i, i+1)
	}
	return i >= 0
}

// MayEnd reports whether the exclusive lease is that of the sender of a flush, and no other flush
// ends it already.
func (h *Holders) MayEnd(from wire.Address) bool { return h.exclusive && h.owner == from && !h.ending }

// Ending takes note of a flush that ends the exclusive lease when it has a number.
func (h *Holders) Ending() { h.ending = true }

// End ends the exclusive lease.
func (h *Holders) End() { h.exclusive = false }

// Active reports whether a lease is out.
func (h *Holders) Active() bool { return h.exclusive || len(h.shared) > 0 }

// Exclusive reports whether the exclusive lease is out.
func (h *Holders) Exclusive() bool { return h.exclusive }

// Owner returns the holder of the exclusive lease, if it is out.
func (h *Holders) Owner() wire.Address { return h.owner }

// Shared returns the holders of shared leases, once for each lease. The list is valid until the next call.
func (h *Holders) Shared() []wire.Address { return h.shared }
