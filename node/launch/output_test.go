package launch

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// alone complains of two who write at once.
type alone struct {
	inside atomic.Int32
	met    atomic.Bool
}

func (w *alone) Write(b []byte) (int, error) {
	if w.inside.Add(1) > 1 {
		w.met.Store(true)
	}
	runtime.Gosched()
	w.inside.Add(-1)
	return len(b), nil
}

// TestOneWritesAtATime: what is noted of a process's end comes while it still writes, and whoever gets all of it need not look out.
func TestOneWritesAtATime(t *testing.T) {
	t.Parallel()
	to := &alone{}
	w := &tail{all: to}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				w.note("file already closed")
			}
		})
	}
	all.Wait()
	if to.met.Load() {
		t.Error("two write at once")
	}
}
