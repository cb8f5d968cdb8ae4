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
	t.Parallel()
	text, err := os.ReadFile("/proc/self/schedstat")
	now, least := Delayed(), delayedOf(text)
	if now < least || (err == nil) != (now > 0) {
		t.Errorf("%v of all threads, %v of the first (%v)", now, least, err)
	}
}

func BenchmarkDelayed(b *testing.B) {
	for b.Loop() {
		Delayed()
	}
}
