package main

import (
	"sync"
	"sync/atomic"
)

// each calls f(0) to f(n-1) on that many threads, each number once.
func each(threads, n int, f func(i int)) {
	if threads == 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}

// wave runs the blocks of a diagonal schedule: step t of row k waits for step t-1 of row k and of row k+1, which held the
// same column before.
type wave struct {
	mu      sync.Mutex
	changed sync.Cond
	begun   []int // steps of a row that were begun
	done    []int // steps of a row that are done
	left    int   // steps to begin
}

func newWave(n int) *wave {
	w := &wave{begun: make([]int, n), done: make([]int, n), left: n * n}
	w.changed.L = &w.mu
	return w
}

// run runs all steps on that many threads.
func (w *wave) run(threads int, do func(row, step int)) {
	each(threads, threads, func(int) {
		for row, step, ok := w.take(); ok; row, step, ok = w.take() {
			do(row, step)
			w.mu.Lock()
			w.done[row]++
			w.mu.Unlock()
			w.changed.Broadcast()
		}
	})
}

// take waits for a step that may begin; of several, the one that is furthest behind.
func (w *wave) take() (row, step int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.left > 0 {
		if row = w.furthestBehind(); row >= 0 {
			step = w.begun[row]
			w.begun[row]++
			w.left--
			return row, step, true
		}
		w.changed.Wait()
	}
	return 0, 0, false
}

func (w *wave) furthestBehind() int {
	n, best := len(w.done), -1
	for k, next := range w.begun {
		if next < n && w.done[k] == next && w.done[(k+1)%n] >= next && (best < 0 || next < w.begun[best]) {
			best = k
		}
	}
	return best
}
