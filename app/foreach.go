package app

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// ForEach calls f(0) to f(n-1), as many at a time as there are processors, and returns when all have. The result must
// not depend on the order of the calls.
func ForEach(n int, f func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}
