package train

import "testing"

// TestATaskThatComesTooLateKeepsNoSlot has a task become ready after the slots were closed, and one behind it that
// waited: that one must still get the slot, to be unwound.
func TestATaskThatComesTooLateKeepsNoSlot(t *testing.T) {
	s := slots{free: 1, run: func(*Task) { t.Error("a task began after the end") }}
	s.close()
	s.ready(&Task{}, false)
	waiting := &Task{ready: make(chan struct{}, 1)}
	s.ready(waiting, true)
	select {
	case <-waiting.ready:
	default:
		t.Error("the one that waited has no slot")
	}
}

// TestASlotThatIsFreeAfterTheEndIsGiven has the last task return between the slots' closing and the wake of one that waits.
func TestASlotThatIsFreeAfterTheEndIsGiven(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	s := slots{free: 1, run: func(*Task) { close(began); <-end }}
	s.ready(&Task{}, false)
	<-began
	closed := make(chan struct{})
	go func() { s.close(); close(closed) }()
	for open := true; open; {
		s.mu.Lock()
		open = !s.closed
		s.mu.Unlock()
	}
	close(end)
	<-closed
	waiting := &Task{ready: make(chan struct{}, 1)}
	s.ready(waiting, true)
	select {
	case <-waiting.ready:
	default:
		t.Error("the one that waited has no slot")
	}
}
