// Command lda shows how fast topic models are sampled: tokens of training a second and core over the first sweeps, and the
// held-out log-likelihood that they come to, by both samplers.
//
// It needs no peer. Files are given by --files, UCI docword or text; without it documents are made from a seed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bellows/app/lda"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/trial"
	"bellows/data"
	"bellows/demo"
)

// wanted is the least speed of the sparse sampler at 100 topics on 20 Newsgroups, tokens a second and core.
const wanted = 1.9e6

func main() {
	options := pair.Flags()
	files := flag.String("files", "", "files of documents, separated by commas (default: made from a seed)")
	topics := flag.String("topics", "100", "numbers of topics, separated by commas")
	sweeps := flag.Int("sweeps", 50, "sweeps over the tokens")
	pair.Exit(options.Parse(1, 3))
	options.Header(os.Stdout, fmt.Sprintf("lda: %d sweeps on one compute slot", *sweeps))
	table := pair.NewTable(os.Stdout, options.JSON)
	defer table.Close()
	sets, err := read(*files)
	pair.Exit(err)
	for _, s := range sets {
		table.Section(s.name + ": " + s.set.Detected.String())
		for _, k := range strings.Split(*topics, ",") {
			for _, sampler := range []string{"sparse", "mh"} {
				pair.Exit(run(table, options.Turns, s, k, sampler, *sweeps))
			}
		}
	}
}

// documents is a set and what it is called.
type documents struct {
	name string
	set  *data.Set
}

func read(files string) ([]documents, error) {
	if files == "" {
		set, err := demo.Make(data.Documents, 1)
		return []documents{{"made from a seed", set}}, err
	}
	var list []documents
	for _, f := range strings.Split(files, ",") {
		set, err := data.Read(context.Background(), []string{f}, data.Documents, data.Options{})
		if err != nil {
			return nil, err
		}
		list = append(list, documents{filepath.Base(f), set})
	}
	return list, nil
}

// run trains a few times and adds the speed, and the likelihood of the last run.
func run(table *pair.Table, turns int, s documents, topics, sampler string, sweeps int) error {
	if _, err := strconv.Atoi(topics); err != nil {
		return fmt.Errorf("--topics: %q is not a number", topics)
	}
	var last *trial.Outcome
	side := pair.Side{Name: sampler, Run: func() (pair.Turn, error) {
		var err error
		last, err = trial.Setup{App: lda.New(), Data: s.set, Epochs: sweeps, Slots: 1,
			Settings: map[string]string{"topics": topics, "sampler": sampler}}.Train()
		if err != nil {
			return pair.Turn{}, err
		}
		return pair.Turn{Work: float64(last.Epochs[len(last.Epochs)-1].Items), Wall: last.Trained}, nil
	}}
	series, err := pair.Interleave(turns, side)
	if err != nil {
		return err
	}
	speed := pair.Fact{Figure: fmt.Sprintf("%s, %s topics", sampler, topics), Unit: "tokens/s", Ours: series[0].Rates(pair.Wall).Median}
	if sampler == "sparse" && topics == "100" && strings.Contains(s.name, "20news") {
		speed.Peer, speed.Bound, speed.Least = "wanted", wanted, true
	}
	table.AddFact(speed)
	for _, m := range last.Epochs[len(last.Epochs)-1].Metrics {
		if m.Name == "test_loglik_per_token" {
			table.AddFact(pair.Fact{Figure: "  held-out log-likelihood per token", Unit: "nats", Ours: m.Value, Exact: true})
		}
	}
	return nil
}
