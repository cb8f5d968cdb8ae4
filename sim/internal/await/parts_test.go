package await

import "testing"

// TestPartlyHeldPushIsOneWait lets a lane hold some of what it was sent, and have no room for the rest, which is named and sent again: that is one wait, which need not be named twice.
func TestPartlyHeldPushIsOneWait(t *testing.T) {
	var p Parts[string]
	last := 0
	look := func(Part[string]) { last++ }
	p.Leaves("a", Held, 10)
	p.Holds("a", true, 10, look) // one pair of several
	p.Name(func(at string) bool { return at == "a" })
	p.Leaves("a", Held, 3000) // when there is room
	all := 0
	p.Each(func(u Part[string]) {
		if all++; u.Since != 10 || !u.Named {
			t.Errorf("%+v", u)
		}
	})
	if all != 1 || last != 0 {
		t.Errorf("%d parts wait, %d were looked at for the last time", all, last)
	}
	p.Holds("a", false, 0, look)
	if p.Each(func(u Part[string]) { t.Errorf("%+v waits", u) }); last != 1 {
		t.Errorf("%d were looked at for the last time", last)
	}
}

// TestLaterMessagesWaitFromTheirOwnTime lets a lane hold what it was sent first of a flush, after something of another lane has been sent to it: that has not waited as long as the first.
func TestLaterMessagesWaitFromTheirOwnTime(t *testing.T) {
	var p Parts[string]
	last := int64(0)
	p.Leaves("a", Held, 10)
	p.Leaves("a", Held, 1500) // what was another lane's
	p.Holds("a", true, 1500, func(u Part[string]) { last = u.Since })
	p.Each(func(u Part[string]) {
		if u.Since != 1500 {
			t.Errorf("%+v", u)
		}
	})
	if last != 10 {
		t.Errorf("what is held was looked at for the last time as of %d", last)
	}
}
