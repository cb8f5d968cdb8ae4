package vec

import "sync/atomic"

// A workspace holds the packed operands of one matrix product at a time. It
// grows to what the largest product needs, a few megabytes, and is used again.
type workspace struct {
	a, b []float32 // packed operands
	c, t []float32 // products to be transposed
}

// idle keeps workspaces between calls, at most as many as calls ever ran side by
// side, and no more than it has room for. A sync.Pool would drop them at each
// garbage collection and make the next call allocate.
var idle = make(chan *workspace, 64)

// spare is one more workspace. It is faster to take than from a channel, which a small product would feel.
var spare atomic.Pointer[workspace]

func takeWorkspace() *workspace {
	if w := spare.Swap(nil); w != nil {
		return w
	}
	select {
	case w := <-idle:
		return w
	default:
		return &workspace{}
	}
}

func (w *workspace) giveBack() {
	if spare.CompareAndSwap(nil, w) {
		return
	}
	select {
	case idle <- w:
	default:
	}
}

// grow returns a slice of n elements with any content. It is never small, for
// only large slices start on a cache line.
func grow(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n, max(n+n/8, 8192))
	}
	return x[:n]
}
