package wire

import (
	"reflect"
	"testing"

	"bellows"
)

// TestWhatAControllerSaysHasItsTerm: of every kind with a field for it that a controller says, the envelope shows it, so that who has heard a newer
// controller can refuse it.
func TestWhatAControllerSaysHasItsTerm(t *testing.T) {
	t.Parallel()
	found := 0
	for _, k := range kinds {
		if k.make == nil || k.ways&(controllerToClient|controllerToLane) == 0 {
			continue
		}
		m := k.make()
		term := reflect.ValueOf(m).Elem().FieldByName("Term")
		if !term.IsValid() {
			continue
		}
		found++
		term.SetUint(7)
		if got := (Envelope{Message: m}).Term(); got != bellows.Term(7) {
			t.Errorf("a %s of term 7 shows term %d", k.name, got)
		}
	}
	if found == 0 {
		t.Error("no kind has a term")
	}
}
