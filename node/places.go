package node

import "runtime"

// places lets a goroutine that reads or writes run beside so many that compute without a pause. The scheduler of Go
// looks at connections when a processor of its own runs out of goroutines; where all of them compute, it does so every
// ten milliseconds (a round trip then takes twenty). With one place more than tasks compute, a frame wakes its reader at
// once, and the system, which preempts finely, shares the cores. It only ever raises the number.
func places(computing int) {
	if runtime.GOMAXPROCS(0) <= computing {
		runtime.GOMAXPROCS(computing + 1)
	}
}
