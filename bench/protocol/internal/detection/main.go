// Package detection measures the time from a signal to a process of a job until the job's log reports the loss, and
// until new work counts. The jobs are `bellows demo mlr` with several processes. Workers are killed or stopped;
// servers, leading processes of a cluster's job, and commands are killed, each at moments that a seed draws. It also
// stops workers for less than a lease, on a machine with busy processors, and counts those that the job has kept.
//
// Work that counts is reported at the end of an epoch or of a checkpoint, so the second time is too long by up to one
// of these: a few hundredths of a second here. One JSON object has the figures. The package ends with an error if a job
// does not notice the loss, does not continue, or ends.
package detection

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"bellows/bench/internal/pair"
)

// The goals, at the 99th percentile, in seconds; and how many of a hundred stops are survived.
const (
	wantDetected  = 3
	wantRecovered = 5
	wantSurvived  = 0.99
)

// Program is the measurement.
var Program = pair.Program{Name: "detection", Define: define, Roles: map[string]func([]string){busily: func([]string) { spin() }}}

func define(flags *flag.FlagSet) func(*pair.Bench) {
	b, n := &bench{}, counts{}
	flags.Uint64Var(&b.seed, "seed", 1, "seed of all that is drawn")
	flags.IntVar(&n.kills, "kills", 10, "workers that are killed")
	flags.IntVar(&n.stops, "stops", 5, "workers that are stopped until they are given up")
	flags.IntVar(&n.servers, "servers", 5, "servers that are killed")
	flags.IntVar(&n.leaders, "leaders", 5, "processes that lead a job of a cluster and are killed")
	flags.IntVar(&n.stoppedLeaders, "stopped-leaders", 2, "processes that lead a job of a cluster and are stopped for good")
	flags.IntVar(&n.commands, "commands", 2, "commands that are killed, and given again at once")
	flags.IntVar(&n.short, "short", 5, "workers that are stopped for --for")
	flags.DurationVar(&n.long, "for", 2500*time.Millisecond, "how long these are stopped")
	flags.IntVar(&n.busy, "busy", 2, "processes that compute and do nothing else meanwhile")
	flags.IntVar(&b.at, "jobs", 1, "jobs that run side by side, except where servers, leaders or commands are killed")
	flags.StringVar(&b.program, "program", "", "a built `bellows` (default: it is built)")
	return func(*pair.Bench) {
		pair.Print(b.measure(n))
	}
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
	Load      string `json:"load"` // of the machine, before and after it
	// Unfollowed lists why jobs were rolled back after their leader was lost; none: each leader was followed.
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

// counts is how many of each are lost, and how workers are stopped for a while.
type counts struct {
	kills, stops, servers, leaders, stoppedLeaders, commands, short int
	long                                                            time.Duration
	busy                                                            int
}

func (b *bench) measure(n counts) (*Report, error) {
	began := time.Now()
	r := &Report{Seed: b.seed, Jobs: b.at}
	err := pair.Attempt(func() {
		b.folder = pair.Must(os.MkdirTemp("", "bellows-detection-"))
		defer os.RemoveAll(b.folder)
		if b.program == "" {
			b.program = filepath.Join(b.folder, "bellows")
			pair.Build(b.program)
		}
		r.Killed = b.lose("kill", n.kills, b.at, loseWorkers(syscall.SIGKILL))
		r.Stopped = b.lose("stop", n.stops, b.at, loseWorkers(syscall.SIGSTOP))
		// These jobs start processes again, which takes the processors: one job at a time.
		r.Server = b.lose("server", n.servers, 1, (*job).killServers)
		r.Leader = b.lose("leader", n.leaders, 1, loseLeaders(syscall.SIGKILL))
		r.StoppedLeader = b.lose("leader-stopped", n.stoppedLeaders, 1, loseLeaders(syscall.SIGSTOP))
		r.Command = b.lose("command", n.commands, 1, (*job).killCommands)
		r.Cut = pair.Median(b.cuts).Value
		r.Short = b.survive(n)
	})
	r.Seconds = time.Since(began).Seconds()
	return r, err
}

// lose loses so many nodes, in jobs in parallel.
func (b *bench) lose(what string, count, at int, lose func(j *job)) *series {
	if count == 0 {
		return nil
	}
	s := &series{Load: pair.Load()}
	for _, j := range b.jobs(what, count, at, lose) {
		b.cuts = append(b.cuts, j.cuts...)
		s.Unfollowed = append(s.Unfollowed, j.unfollowed...)
		s.Detected.figures, s.Recovered.figures = append(s.Detected.figures, j.detected...), append(s.Recovered.figures, j.recovered...)
	}
	s.Load += " to " + pair.Load()
	s.Detected.settle(wantDetected)
	s.Recovered.settle(wantRecovered)
	return s
}

// jobs disturbs jobs in parallel, so many times in all.
func (b *bench) jobs(what string, count, at int, do func(j *job)) []*job {
	list := make([]*job, at)
	for i := range list {
		list[i] = &job{bench: b, name: fmt.Sprintf("%s-%d", what, i), rng: rand.New(rand.NewPCG(b.seed, uint64(i))), left: count*(i+1)/at - count*i/at}
	}
	pair.RunTogether(at, func(i int) {
		for list[i].left > 0 {
			list[i].run(do)
		}
	})
	return list
}

// survive stops workers for a while, on a busy machine.
func (b *bench) survive(n counts) *stops {
	if n.short == 0 {
		return nil
	}
	defer keepBusy(n.busy)()
	s := &stops{Seconds: n.long.Seconds(), Wanted: wantSurvived, Busy: n.busy, Load: pair.Load()}
	for _, j := range b.jobs("short", n.short, b.at, func(j *job) { j.stopShortly(n.long) }) {
		s.Count += j.stopped
		s.Survived += j.stopped - j.lost
	}
	s.Load += " to " + pair.Load()
	return s
}
