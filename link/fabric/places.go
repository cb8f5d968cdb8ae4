package fabric

import "runtime"

// Places lets a goroutine that reads or writes run beside so many that compute without a pause. The scheduler of Go
// looks at connections when a processor of its own runs out of goroutines; where all of them compute, it does so every
// ten milliseconds (a round trip then takes twenty). With one place more than tasks compute, a frame wakes its reader at
// once, and the system, which preempts finely, shares the cores. It only ever raises the number, and is of the whole
// process: where several nodes are one process, whoever started them decides.
func Places(computing int) {
	if runtime.GOMAXPROCS(0) <= computing {
		runtime.GOMAXPROCS(computing + 1)
	}
}
