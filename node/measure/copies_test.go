package measure

import "testing"

// TestARateIsOfTheLastSeconds reads a copy four times a second: its rate covers the time since its beginning, then the
// last three seconds, and is 0 when nothing has arrived for so long.
func TestARateIsOfTheLastSeconds(t *testing.T) {
	m := Readings{{1000, 0}}
	at, bytes := int64(1000), int64(0)
	go250 := func(times int, each int64) {
		for range times {
			at, bytes = at+250, bytes+each
			m = m.Enter(Reading{at, bytes})
		}
	}
	is := func(when string, want float64) {
		t.Helper()
		if got := m.Rate(Reading{at, bytes}); got != want {
			t.Errorf("%s it is %v bytes a second, want %v", when, got, want)
		}
		if len(m) > 14 {
			t.Errorf("%s there are %d readings", when, len(m))
		}
	}
	is("at once", 0)
	go250(2, 100)
	is("behind half a second", 400)
	if got := m.Rate(Reading{at + 500, bytes + 300}); got != 500 {
		t.Errorf("between two ticks it is %v", got)
	}
	go250(10, 100)
	is("behind three seconds", 400)
	go250(6, 200)
	is("when it has been faster for half of that", 600)
	go250(6, 200)
	is("when it has been faster for all of that", 800)
	go250(6, 0)
	is("when nothing has come for half of that", 400)
	go250(6, 0)
	is("when nothing has come for all of that", 0)
	m, at = m.Enter(Reading{at + 60_000, bytes}), at+60_000
	is("after a minute without a query", 0)
	go250(1, 200)
	if got := m.Rate(Reading{at + 3000, bytes}); got != 0 {
		t.Errorf("three seconds after the last bytes it is %v", got)
	}
}
