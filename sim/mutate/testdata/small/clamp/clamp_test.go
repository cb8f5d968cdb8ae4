package clamp

import (
	"os"
	"os/signal"
	"testing"
)

func TestWithin(t *testing.T) {
	if Within(3, 5) != 5 || Within(7, 5) != 7 {
		t.Error("not within")
	}
}

// TestFinish waits in a way that the runtime does not take for a deadlock.
func TestFinish(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	done := make(chan bool)
	go Finish(done)
	<-done
}
