// Command detection takes the time from a signal to a process of a job until the job's log tells that it is lost, and until something new counts, in `bellows demo mlr` with several processes: workers
// are killed, workers are stopped, and servers, processes that lead a job of a cluster, and commands are killed, each at moments that a seed draws. And it stops workers for less than a lease, on a machine whose processors are kept busy, and counts those that the
// job has kept.
//
// What counts is told at the end of an epoch or of a checkpoint, so that the second time is too long by up to one of these: a few hundredths of a second here. One JSON object has the figures. It ends
// with an error where a job does not notice, does not go on, or ends.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bellows/bench/internal/pair"
)

// What is wanted, at the 99th percentile, in seconds; and how many of a hundred stops are survived.
const (
	wantDetected  = 3
	wantRecovered = 5
	wantSurvived  = 0.99
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == busily {
		spin()
	}
	b := &bench{}
	flag.Uint64Var(&b.seed, "seed", 1, "seed of all that is drawn")
	kills := flag.Int("kills", 10, "workers that are killed")
	stops := flag.Int("stops", 5, "workers that are stopped until they are given up")
	servers := flag.Int("servers", 5, "servers that are killed")
	leaders := flag.Int("leaders", 5, "processes that lead a job of a cluster and are killed")
	stoppedLeaders := flag.Int("stopped-leaders", 2, "processes that lead a job of a cluster and are stopped for good")
	commands := flag.Int("commands", 2, "commands that are killed, and given again at once")
	short := flag.Int("short", 5, "workers that are stopped for --for")
	long := flag.Duration("for", 2500*time.Millisecond, "how long these are stopped")
	busy := flag.Int("busy", 2, "processes that compute and do nothing else meanwhile")
	flag.IntVar(&b.at, "jobs", 1, "jobs that run side by side, except where servers, leaders or commands are killed")
	flag.StringVar(&b.program, "program", "", "a built `bellows` (default: it is built)")
	flag.Parse()
	r, err := b.all(*kills, *stops, *servers, *leaders, *stoppedLeaders, *commands, *short, *long, *busy)
	pair.Tell(r, err)
}

// Report is what was measured.
type Report struct {
	Seed          uint64  `json:"seed"`
	Seconds       float64 `json:"seconds"`
	Jobs          int     `json:"jobs_at_once"`
	Killed        *series `json:"worker_killed,omitempty"`
	Stopped       *series `json:"worker_stopped,omitempty"`
	Server        *series `json:"server_killed,omitempty"`
	Leader        *series `json:"leader_killed,omitempty"` // "detected" is until the cluster's manager has noticed
	StoppedLeader *series `json:"leader_stopped,omitempty"`
	Command       *series `json:"command_killed,omitempty"`     // "detected" is until all processes have joined again
	Cut           float64 `json:"checkpoint_seconds,omitempty"` // the median of what checkpoints of these jobs took
	Short         *stops  `json:"stopped_for_a_moment,omitempty"`
}

// series is times of one kind of loss, in seconds from the signal.
type series struct {
	Detected  times  `json:"detected"`
	Recovered times  `json:"recovered"`
	Load      string `json:"load"` // of the machine, before and behind it
	// Unfollowed is why jobs were rolled back that lost who led them; none: each was followed.
	Unfollowed []string `json:"unfollowed,omitempty"`
}

// times is what is said of some times.
type times struct {
	Median  pair.Quantile `json:"median"`
	Tail    pair.Quantile `json:"p99"`
	Most    float64       `json:"most"`
	Wanted  float64       `json:"wanted_at_most"`
	Misses  int           `json:"above"` // that
	figures []float64
}

func (t *times) settle(wanted float64) {
	t.Median, t.Tail, t.Wanted = pair.Median(t.figures), pair.QuantileOf(0.99, t.figures), wanted
	for _, x := range t.figures {
		t.Most = max(t.Most, x)
		if x > wanted {
			t.Misses++
		}
	}
}

// stops is what became of workers that were stopped for less than a lease.
type stops struct {
	Seconds  float64 `json:"seconds"`
	Count    int     `json:"count"`
	Survived int     `json:"survived"`
	Wanted   float64 `json:"wanted_share"`
	Busy     int     `json:"busy_processes"`
	Load     string  `json:"load"`
}

// bench is a run of this command.
type bench struct {
	seed    uint64
	at      int
	program string
	folder  string
	cuts    []float64 // seconds that checkpoints took
}

func (b *bench) all(kills, stopped, servers, leaders, stoppedLeaders, commands, short int, long time.Duration, busy int) (r *Report, err error) {
	began := time.Now()
	r = &Report{Seed: b.seed, Jobs: b.at}
	defer func() { r.Seconds = time.Since(began).Seconds() }()
	if b.folder, err = os.MkdirTemp("", "bellows-detection-"); err != nil {
		return r, err
	}
	defer os.RemoveAll(b.folder)
	if b.program == "" {
		b.program = filepath.Join(b.folder, "bellows")
		if err := pair.Build(b.program); err != nil {
			return r, err
		}
	}
	if r.Killed, err = b.lose("kill", kills, (*job).killWorkers); err != nil {
		return r, err
	}
	if r.Stopped, err = b.lose("stop", stopped, (*job).stopWorkers); err != nil {
		return r, err
	}
	at := b.at
	b.at = 1 // what is started anew wants the processors
	if r.Server, err = b.lose("server", servers, (*job).killServers); err != nil {
		return r, err
	}
	if r.Leader, err = b.lose("leader", leaders, (*job).killLeaders); err != nil {
		return r, err
	}
	if r.StoppedLeader, err = b.lose("leader-stopped", stoppedLeaders, (*job).stopLeaders); err != nil {
		return r, err
	}
	if r.Command, err = b.lose("command", commands, (*job).killCommands); err != nil {
		return r, err
	}
	b.at = at
	r.Cut = pair.Median(b.cuts).Value
	r.Short, err = b.survive(short, long, busy)
	return r, err
}

// lose loses so many nodes, in jobs side by side.
func (b *bench) lose(what string, count int, lose func(j *job) error) (*series, error) {
	if count == 0 {
		return nil, nil
	}
	s := &series{Load: pair.Load()}
	list, err := b.jobs(what, count, lose)
	for _, j := range list {
		b.cuts = append(b.cuts, j.cuts...)
		s.Unfollowed = append(s.Unfollowed, j.unfollowed...)
		s.Detected.figures, s.Recovered.figures = append(s.Detected.figures, j.detected...), append(s.Recovered.figures, j.recovered...)
	}
	s.Load += " to " + pair.Load()
	s.Detected.settle(wantDetected)
	s.Recovered.settle(wantRecovered)
	return s, err
}

// jobs does something to jobs side by side, so many times in all.
func (b *bench) jobs(what string, count int, do func(j *job) error) (list []*job, err error) {
	var all sync.WaitGroup
	wrong := make([]error, b.at)
	for i := range b.at {
		j := &job{bench: b, name: fmt.Sprintf("%s-%d", what, i), rng: rand.New(rand.NewPCG(b.seed, uint64(i))), left: count*(i+1)/b.at - count*i/b.at}
		list = append(list, j)
		all.Go(func() {
			for wrong[i] == nil && j.left > 0 {
				wrong[i] = j.run(do)
			}
		})
	}
	all.Wait()
	return list, errors.Join(wrong...)
}

// survive stops workers for a while, on a busy machine.
func (b *bench) survive(count int, long time.Duration, busy int) (s *stops, err error) {
	if count == 0 {
		return nil, nil
	}
	end, err := keepBusy(busy)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	s = &stops{Seconds: long.Seconds(), Wanted: wantSurvived, Busy: busy, Load: pair.Load()}
	list, err := b.jobs("short", count, func(j *job) error { return j.stopShortly(long) })
	for _, j := range list {
		s.Count += j.stopped
		s.Survived += j.stopped - j.lost
	}
	s.Load += " to " + pair.Load()
	return s, err
}
