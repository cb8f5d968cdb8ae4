package memory

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Bounds of the growth of the heap between two collections.
const (
	growthLeast   = 24 << 20 // bytes
	growthPointed = 2        // bytes for each byte in which a collection looks for pointers
	percentLeast  = 12
	percentMost   = 100 // Go's own
	percentStep   = 5   // a smaller change is not worth stopping the process for
	unlimited     = 1 << 50
)

// GrowthPercent returns by how many percent of what is alive the heap may grow before the next collection.
//
// Go lets a heap double, so that each byte that it looks at pays for one that is allocated. But it looks for pointers
// only, and rows and tables have none: a table of 100 MB makes no collection longer. So the growth follows the bytes
// that may have pointers. It is at least an eighth of the heap, since collections also sweep the heap.
func GrowthPercent(alive, pointed uint64) int {
	if alive == 0 {
		return percentMost
	}
	growth := growthLeast + growthPointed*pointed
	return int(min(max(100*growth/alive, percentLeast), percentMost))
}

// grown returns how large a heap gets that has so many bytes alive.
func grown(alive float64, pointed uint64) float64 {
	percent := GrowthPercent(uint64(min(alive, math.MaxInt64/percentMost)), pointed)
	return alive + alive*float64(percent)/100
}

// growthSet reports whether the user has set the growth of the heap.
func growthSet() bool { return os.Getenv("GOGC") != "" }

// collected returns the bytes that the last collection has found alive, and those that it looked at for pointers.
func collected() (alive, pointed uint64) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/total:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64(), sample[1].Value.Uint64()
}

// LimitGrowth applies GrowthPercent after each collection, for the rest of the process. It leaves a process alone for
// which GOGC is set.
func LimitGrowth() {
	if !growthSet() {
		afterCollection(percentMost)
	}
}

// afterCollection sets the growth of the heap when the next collection is over, and again after each later one. The
// runtime calls the cleanup of an object when nothing refers to it.
func afterCollection(percent int) {
	sentinel := new([16]byte)
	runtime.AddCleanup(sentinel, func(percent int) {
		next := GrowthPercent(collected())
		if max(next-percent, percent-next) >= percentStep {
			debug.SetGCPercent(next)
			percent = next
		}
		afterCollection(percent)
	}, percent)
}

// collectLeast is the size of a heap, in bytes, from which Collect collects.
const collectLeast = 16 << 20

// Collect frees what nothing refers to, if the heap is large: before memory is needed that the next collection would
// come too late for. It collects twice, since a sync.Pool keeps its content for one more collection.
func Collect() {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(sample); sample[0].Value.Uint64() >= collectLeast {
		runtime.GC()
		runtime.GC()
	}
}
