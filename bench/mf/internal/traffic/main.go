// Package traffic measures the bytes that matrix factorisation by strata sends between processes in an epoch, compared
// with the bytes of its model: factors and offsets, without the padding of rows in memory.
//
// It builds the command, which reports the bytes of pushes, leases and pulls. They include the scoring of held-out
// ratings. Data are ml-1m-liked below --data; without --data,
// ratings made from a seed.
package traffic

import (
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/data"
)

// The runs, and what an epoch may send in times of the model.
const (
	epochs = 20
	most   = 2
)

// Program is the measurement.
var Program = pair.Program{Name: "traffic", Turns: [2]int{1, 3}, Define: define}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	dir := flags.String("data", "", "folder with ml-1m-liked (default: ratings made from a seed)")
	program := flags.String("program", "", "path of another build of bellows to measure instead")
	counts := flags.String("processes", "2,4", "numbers of processes, with commas")
	rank := flags.Int("rank", 50, "number of factors")
	return func(b *pair.Bench) {
		b.Header("traffic: bytes that strata send in an epoch, rank %d", *rank)
		shelf := sets.Open(*dir)
		defer shelf.Close()
		files := shelf.Rated("ml-1m-liked")
		train, _ := files.Read(data.Ratings)
		b.Section(files.Origin + ", " + train.Detected.String())
		if *program == "" {
			*program = shelf.Bellows()
		}
		m := measure{b, shelf, *program, files.Train, *rank}
		model := 4 * float64(len(train.Ratings.Users)+len(train.Ratings.Items)) * float64(*rank+1)
		for _, n := range strings.Split(*counts, ",") {
			m.add(pair.Must(strconv.Atoi(n)), model)
		}
	}
}

type measure struct {
	*pair.Bench
	shelf         *sets.Shelf
	program, file string
	rank          int
}

// add adds the figures of a number of processes.
func (m *measure) add(processes int, model float64) {
	var list []float64
	for range m.Turns {
		list = append(list, m.train(processes)/epochs)
	}
	sent := pair.SpreadOf(list).Median
	m.AddFact(pair.Fact{Figure: fmt.Sprintf("%d processes, an epoch", processes), Unit: "B", Ours: sent})
	m.AddFact(pair.Fact{Figure: fmt.Sprintf("%d processes, in times of the model", processes), Ours: sent / model, Peer: "limit", Bound: most})
}

// train returns the bytes that a run sends.
func (m *measure) train(processes int) float64 {
	_, lines, _ := m.shelf.Train(m.program, nil, "mf", m.file, "--epochs", strconv.Itoa(epochs), "--set", fmt.Sprintf("rank=%d", m.rank),
		"--processes", strconv.Itoa(processes), "--cache", m.shelf.Path("cache"))
	var last struct {
		Bytes struct{ Pushed, Pulled float64 }
	}
	pair.Check(json.Unmarshal(lines[len(lines)-1], &last))
	return last.Bytes.Pushed + last.Bytes.Pulled
}
