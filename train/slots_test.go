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
