package train

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWhoHasNoWorkSleeps in virtual time, too, which stands still while it looks for some.
func TestWhoHasNoWorkSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, over := make(chan *Task), make(chan *Task)
		go func() { over <- (&pool{}).await(mine) }()
		<-time.After(time.Second)
		want := &Task{}
		mine <- want
		if got := <-over; got != want {
			t.Errorf("it is given %p", got)
		}
	})
}
