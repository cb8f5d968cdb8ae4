// Package checkpoint measures the cost of checkpoints of a running job, and the work that they save when the job is
// killed.
//
// It makes its data and builds the program. Everything is written below the folder for temporary files (TMPDIR), whose disk is what it measures.
package checkpoint

import (
	"cmp"
	"flag"
	"strings"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

// Program is the measurement.
var Program = pair.Program{Name: "checkpoint", Turns: [2]int{4, 15}, Define: define,
	Roles: map[string]func([]string){"checkpoint": live}}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	every := flags.String("every", "", "`times` between two checkpoints, with commas; auto is the default one (default: 1s; with --full 1s,5s,auto,60s)")
	count := flags.Int("cuts", 4, "how many single checkpoints are looked at")
	jobs := flags.Int("jobs", 1, "jobs side by side, for single checkpoints and for deaths")
	kills := flags.Int("kills", 4, "how often jobs are killed, for each interval between checkpoints")
	picture := flags.String("picture", "", "`file` for the picture of what deaths cost")
	traces := flags.String("traces", "", "`folder` with recordings of how long machines live")
	size := flags.Int64("bytes", 0, "`size` of the model to be recovered (default: 64 MiB; with --full 1 GB)")
	return func(b *pair.Bench) {
		b.Header("checkpoint: what a job pays to be saved while it runs, and how soon it resumes")
		shelf := sets.Open("")
		defer shelf.Close()
		c := &check{b, shelf}
		b.Parts(b.Part,
			pair.Part{Name: "steady", Run: func() { c.steady(intervals(*every, b.Full)) }},
			pair.Part{Name: "cuts", Run: func() { c.cuts(strings.Split(cmp.Or(*every, "12s"), ","), *count, *jobs) }},
			pair.Part{Name: "speed", Run: c.speed},
			pair.Part{Name: "recovery", Run: func() { c.recovery(*size) }},
			pair.Part{Name: "deaths", Run: func() { c.deaths(strings.Split(cmp.Or(*every, "1s,2s"), ","), *kills, *jobs, *picture) }},
			pair.Part{Name: "lives", Run: func() {
				if *traces != "" || b.Part == "lives" {
					c.lives(*traces)
				}
			}})
	}
}

// check is what every part needs.
type check struct {
	*pair.Bench
	shelf *sets.Shelf
}

// times returns how much longer something took, and by both clocks.
func times(ours, other pair.Turn) (wall, cpu float64) {
	return float64(ours.Wall) / float64(other.Wall), float64(ours.CPU) / float64(max(other.CPU, time.Millisecond))
}
