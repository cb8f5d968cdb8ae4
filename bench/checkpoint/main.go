// Command checkpoint shows what it costs that a job is saved while it runs, and what that gives back when the job is killed.
//
// It makes its data and builds the program. Everything is written below the folder for temporary files (TMPDIR), whose disk is what it measures.
package main

import (
	"flag"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

func main() {
	only := flag.String("only", "", "steady, speed or recovery alone")
	every := flag.String("every", "", "`times` between two checkpoints, with commas; auto is the default one (default: 1s; with --full 1s,5s,auto,60s)")
	size := flag.Int64("bytes", 0, "`size` of the model to be recovered (default: 64 MiB; with --full 1 GB)")
	life := flag.String("life", "", "`life` of the job to be recovered, to play it; for internal use")
	folder := flag.String("folder", "", "where that one is saved; for internal use")
	pair.Main(4, 15, func(b *pair.Bench) {
		if *life != "" {
			pair.Check(live(*life, *folder, *size))
			return
		}
		b.Header("checkpoint: what a job pays to be saved while it runs, and how soon it goes on")
		shelf := sets.Open("")
		defer shelf.Close()
		c := &check{b, shelf}
		b.Parts(*only,
			pair.Part{Name: "steady", Run: func() { c.steady(intervals(*every, b.Full)) }},
			pair.Part{Name: "speed", Run: c.speed},
			pair.Part{Name: "recovery", Run: func() { c.recovery(*size) }})
	})
}

// check is what every part needs.
type check struct {
	*pair.Bench
	shelf *sets.Shelf
}

// times is how much longer something took, and by both clocks.
func times(ours, other pair.Turn) (wall, cpu float64) {
	return float64(ours.Wall) / float64(other.Wall), float64(ours.CPU) / float64(max(other.CPU, time.Millisecond))
}
