package fabric

import "runtime"

// Places raises GOMAXPROCS to one more than the number of computing goroutines. Go's scheduler polls connections when a
// processor of its own runs out of goroutines; if all of them compute, it does so every ten milliseconds, and a round
// trip takes twenty. With one place more, a frame wakes its reader at once, and the system, which preempts finely,
// shares the cores. Places never lowers the number, which is that of the whole process: if several nodes share a
// process, the code that started them decides.
func Places(computing int) {
	if runtime.GOMAXPROCS(0) <= computing {
		runtime.GOMAXPROCS(computing + 1)
	}
}
