//go:build !unix

package data

// cpuSeconds returns 0: the CPU time is unknown here.
func cpuSeconds() float64 { return 0 }
