package lease_test

import (
	"slices"
	"testing"

	"bellows/core/lease"
	"bellows/link/wire"
)

var a, b = wire.ClientAt(1), wire.ClientAt(2)

// TestAnExclusiveHolderIsAlone grants what is free, and nothing while an exclusive lease is held.
func TestAnExclusiveHolderIsAlone(t *testing.T) {
	t.Parallel()
	var h lease.Holders
	free := func(shared, exclusive bool) {
		t.Helper()
		if s, e := h.Free(wire.Shared), h.Free(wire.Exclusive); s != shared || e != exclusive {
			t.Errorf("shared is free: %v, exclusive: %v; want %v and %v", s, e, shared, exclusive)
		}
		if h.Active() == exclusive {
			t.Errorf("a lease is out: %v", h.Active())
		}
	}
	free(true, true)
	h.Grant(wire.Shared, a)
	free(true, false)
	h.Grant(wire.Shared, a)
	h.Grant(wire.Shared, b)
	if want := []wire.Address{a, a, b}; !slices.Equal(h.Shared(), want) {
		t.Errorf("shared by %v, not %v", h.Shared(), want)
	}
	for _, from := range []wire.Address{a, b, a} {
		free(true, false)
		h.Release(from)
	}
	free(true, true)
	h.Grant(wire.Exclusive, b)
	if free(false, false); !h.Exclusive() || h.Owner() != b {
		t.Errorf("exclusive: %v, of %v", h.Exclusive(), h.Owner())
	}
	h.End()
	free(true, true)
}

// TestALeaseIsItsHoldersToEnd refuses ends of leases that their sender does not have, or has ended.
func TestALeaseIsItsHoldersToEnd(t *testing.T) {
	t.Parallel()
	var h lease.Holders
	if h.Release(a) || h.MayEnd(a) {
		t.Error("a lease that nobody has is ended")
	}
	h.Grant(wire.Shared, a)
	if h.MayEnd(a) || h.Release(b) || !h.Release(a) || h.Release(a) {
		t.Error("a shared lease is ended by another, by a flush, or twice")
	}
	for range 2 {
		h.Grant(wire.Exclusive, a)
		if h.MayEnd(b) || h.Release(a) || !h.MayEnd(a) {
			t.Error("an exclusive lease is not for its holder's flush to end")
		}
		if h.Ending(); h.MayEnd(a) {
			t.Error("a second flush ends an exclusive lease")
		}
		h.End()
	}
}
