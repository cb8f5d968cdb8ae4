// Package cold measures `bellows train mf` as a whole command, from an unparsed text file to the model on disk: time
// and peak memory. It compares it with LIBMF and with another build of bellows.
//
// It builds the command itself. LIBMF's mf-train is named by --libmf, the other build by --before. The file is made from a seed, and both sides
// read the same one; parsed inputs are stored in a folder that each turn begins without. Peaks are those that the system keeps of each process;
// they are never below this command's own, which is small.
package cold

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

// The goals: speed against LIBMF, memory against LIBMF, and preparing against reading.
const (
	speedLeast   = 3
	memoryMost   = 2
	planningMost = 0.5
)

// Program is the measurement.
var Program = pair.Program{Name: "cold", Turns: [2]int{3, 7}, Define: define}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	libmf := flags.String("libmf", "", "path of LIBMF's mf-train")
	before := flags.String("before", "", "path of another build of bellows")
	ratings := flags.Int("ratings", 0, "ratings of the file (default 1 million, with --full 10 million)")
	epochs := flags.Int("epochs", 10, "passes over the ratings")
	threads := flags.Int("threads", min(2, runtime.NumCPU()), "threads of each side")
	return func(b *pair.Bench) {
		b.Header("cold: from text to model, whole command, %d epochs on %d threads", *epochs, *threads)
		shelf := sets.Open("")
		defer shelf.Close()
		n := *ratings
		switch {
		case n > 0:
		case b.Full:
			n = 10_000_000
		default:
			n = 1_000_000
		}
		file := shelf.Ratings(max(10, n/140), max(10, n/1000), n) // as many users and items as MovieLens-10M, in proportion
		b.Section(file.Origin)
		r := race{b, shelf, file.Train, *epochs, *threads, n}
		r.run(r.bellows("bellows", shelf.Bellows()), *libmf, *before)
	}
}

// race is what every side is run on.
type race struct {
	*pair.Bench
	shelf                    *sets.Shelf
	file                     string
	epochs, threads, ratings int
}

// bellows is one build of ours, with the seconds of its stages turn by turn.
type bellows struct {
	pair.Side
	stages []map[string]float64
}

func (r *race) bellows(name, program string) *bellows {
	s := &bellows{Side: pair.Side{Name: name}}
	s.Run = func() pair.Turn {
		cache := r.shelf.Path("cache")
		pair.Check(os.RemoveAll(cache))
		last, _, turn := r.shelf.Train(program, []string{"GOMAXPROCS=" + strconv.Itoa(r.threads)}, "mf", r.file, "--epochs", strconv.Itoa(r.epochs), "--cache", cache)
		s.stages = append(s.stages, last.Stages) // none of a build that tells none
		return turn
	}
	return s
}

func (r *race) libmf(program string) pair.Side {
	return pair.Side{Name: "LIBMF", Run: func() pair.Turn {
		_, turn := pair.RunProgram("LIBMF", program, []string{"OMP_NUM_THREADS=" + strconv.Itoa(r.threads)}, "-k", "32", "-s", strconv.Itoa(r.threads),
			"-t", strconv.Itoa(r.epochs), "--quiet", r.file, r.shelf.Path("libmf.model"))
		return turn
	}}
}

func (r *race) run(ours *bellows, libmf, before string) {
	sides := []pair.Side{ours.Side}
	if libmf != "" {
		sides = append(sides, r.libmf(libmf))
	}
	if before != "" {
		sides = append(sides, r.bellows(filepath.Base(before), before).Side)
	}
	series := r.Interleave(sides...)
	row := pair.Row{Figure: fmt.Sprintf("%d ratings, text to model", r.ratings), Unit: "s", Cost: true, Ours: series[0]}
	if len(series) == 1 {
		r.Add(row)
	}
	for _, peer := range series[1:] {
		if row.Peer, row.Target = peer, 0; peer.Name == "LIBMF" {
			row.Target = speedLeast
		}
		r.Add(row)
	}
	peak := pair.Fact{Figure: "peak of memory", Unit: "B", Ours: series[0].Peak()}
	if libmf != "" {
		peak.Peer, peak.Bound = fmt.Sprintf("%d times LIBMF's", memoryMost), memoryMost*series[1].Peak()
	}
	r.AddFact(peak)
	r.planning(ours.stages[1:]) // the first turn does not count
}

// planning shows what laying out the ratings takes beside reading them.
func (r *race) planning(turns []map[string]float64) {
	var shares []float64
	for _, t := range turns {
		if prepare, read := t["prepare"], t["read"]; prepare > 0 && read > 0 {
			shares = append(shares, prepare/read)
		}
	}
	if len(shares) > 0 {
		r.AddFact(pair.Fact{Figure: "preparing in times of reading", Ours: pair.SpreadOf(shares).Median, Peer: "limit", Bound: planningMost})
	}
}
