package measure

import (
	"os"
	"testing"
	"time"
)

func TestDelayedOfLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"407365 3878036 2\n": 3878036, "": 0, "1 2\n": 0, "1 x 3\n": 0, "1 -2 3\n": 0,
	} {
		if got := delayedOf([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestDelayedGrows compares two readings around that of the main thread, which the kernel counts too.
func TestDelayedGrows(t *testing.T) {
	text, err := os.ReadFile("/proc/self/schedstat")
	if err != nil {
		t.Skip("this system does not count delays: ", err)
	}
	if now, least := Delayed(), delayedOf(text); now < least || least <= 0 {
		t.Errorf("%v of all threads, %v of the first", now, least)
	}
}

func BenchmarkDelayed(b *testing.B) {
	for b.Loop() {
		Delayed()
	}
}
