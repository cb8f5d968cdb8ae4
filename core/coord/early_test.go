package coord_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/coord"
)

// eager dispatches three clocks of a split at once, and notes the order in which they come back.
type eager struct{ came []bellows.Clock }

func (d *eager) DispatchInitialTasks(to *coord.Dispatcher) {
	for range 3 {
		to.DispatchTask(0)
	}
}

func (d *eager) HandleTaskCompletion(c coord.Completion, _ *coord.Dispatcher) {
	d.came = append(d.came, c.Clock)
}

func (d *eager) Save() []float64         { return nil }
func (d *eager) Restore([]float64) error { return nil }

// TestADoneThatIsEarlyWaits tells the controller of a split's clocks in the wrong order.
func TestADoneThatIsEarlyWaits(t *testing.T) {
	driver := &eager{}
	d := newRunning(driver)
	for _, clock := range []int{2, 1} {
		d.done(1, clock)
		if said := d.said(); len(said) > 0 || len(driver.came) > 0 {
			t.Fatalf("clock %d before clock 0: %v, %v", clock, said, driver.came)
		}
	}
	d.done(1, 0)
	if want := []bellows.Clock{0, 1, 2}; !slices.Equal(driver.came, want) {
		t.Errorf("the driver is told of clocks %v", driver.came)
	}
	if _, _, commit := d.Progress(); commit != 3 {
		t.Errorf("%d commits", commit)
	}
}

// TestEarlyDonesAreNoMoreThanTasksAreOut has a client say again and again, by ever new flushes, that a clock before its turn is done.
func TestEarlyDonesAreNoMoreThanTasksAreOut(t *testing.T) {
	d := newRunning(&eager{})
	for seq := range 3 {
		d.doneAs(1, 1, seq+10)
		d.doneAs(1, 1, seq+10) // which is known
		if said := d.said(); len(said) > 0 {
			t.Fatalf("%d flushes wait, and 3 tasks are out: %v", seq+1, said)
		}
	}
	d.doneAs(1, 1, 20)
	if said := strings.Join(d.said(), "; "); !strings.Contains(said, "3 flushes wait for splits to catch up, and no more tasks are out") {
		t.Errorf("said: %s", said)
	}
}
