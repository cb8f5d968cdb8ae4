package timing

import (
	"testing"

	"bellows"
	"bellows/progress"
	"bellows/train"
)

// still is a driver that does nothing.
type still struct{ train.Driver }

func (still) HandleTaskCompletion(train.Completion, *train.Dispatcher) {}

// TestTheFirstEpochAfterAResume counts the items that this process has visited of it, and none of the next.
func TestTheFirstEpochAfterAResume(t *testing.T) {
	t.Parallel()
	m := progress.New(t.Context())
	d := NewDriver(still{}, m)
	for _, items := range []int{30, 20, 0, 0, 100, 0} {
		d.HandleTaskCompletion(train.Completion{Unit: bellows.Unit{Items: bellows.Range{Begin: 5, End: 5 + items}}}, nil)
	}
	if got := d.First(); got != 50 {
		t.Errorf("%d items, not 50", got)
	}
	if r := m.Read(); r.Done != 150 {
		t.Errorf("the meter counts %d", r.Done)
	}
}
