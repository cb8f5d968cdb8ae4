package launch

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// alone reports an error if two goroutines write at once.
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

// TestTailSerialisesWrites checks that no note about a process's end is written during another write, so that the
// receiver needs no lock.
func TestTailSerialisesWrites(t *testing.T) {
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

// TestSentenceOmitsLastLines shortens the reason of a death to one line.
func TestSentenceOmitsLastLines(t *testing.T) {
	t.Parallel()
	w := &tail{}
	const reason = "node 3 (process 7) ended with signal: killed"
	for range 2 {
		if got := Sentence(errors.New(reason + w.last())); got != reason {
			t.Errorf("%q", got)
		}
		w.note("a line")
	}
}
