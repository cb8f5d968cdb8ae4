package observe

import (
	"fmt"
	"slices"
	"testing"

	"bellows/link/wire"
)

// log records the calls of all observers of a test.
type log []string

type sender struct {
	name string
	to   *log
}

func (o sender) Posted(e wire.Envelope) { *o.to = append(*o.to, o.name+" posted") }

type stepper struct{ to *log }

func (o stepper) Delivered(e wire.Envelope) { *o.to = append(*o.to, "delivered") }
func (o stepper) Before(e wire.Envelope)    { *o.to = append(*o.to, "before") }
func (o stepper) After(from wire.Address, out []wire.Envelope) {
	*o.to = append(*o.to, fmt.Sprintf("after %d", len(out)))
}
func (o stepper) Final() { *o.to = append(*o.to, "final") }

func TestObserversAreCalledInOrder(t *testing.T) {
	t.Parallel()
	var got log
	var l List
	l.Add(sender{"a", &got}, stepper{&got}, sender{"b", &got})
	e := wire.Envelope{Message: &wire.Beat{}}
	l.Posted(e)
	l.Delivered(e)
	l.Before(e)
	l.After(wire.ControllerAt(), []wire.Envelope{e, e})
	l.Final()
	if want := (log{"a posted", "b posted", "delivered", "before", "after 2", "final"}); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

func TestAddPanicsForObserverWithoutMethods(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("an observer without methods was added")
		}
	}()
	var l List
	l.Add(3)
}
