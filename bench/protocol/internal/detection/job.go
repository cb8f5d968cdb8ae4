package detection

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bellows/bench/internal/follow"
	"bellows/bench/internal/pair"
)

// job is a job that loses nodes, in one call of its command after the other.
type job struct {
	*bench
	name                string
	rng                 *rand.Rand
	left                int // times that are wanted still
	detected, recovered []float64
	unfollowed          []string // why jobs were rolled back instead
	stopped, lost       int
	cuts                []float64

	cmd   *follow.Command
	nodes map[int]int // processes that take part, by node
	state string      // of the cluster that it is a job of; "": none
}

// The bounds of what is waited for, and the processes of a job.
const (
	within    = time.Minute
	workers   = 5
	toServers = 3 // workers of a job that loses servers
)

// run calls the command, has something done to it until it is of no use any more, and ends it.
func (j *job) run(do func(j *job)) {
	if strings.HasPrefix(j.name, "leader") {
		defer j.inCluster()()
	}
	err := pair.Attempt(func() {
		j.start("--fresh")
		do(j)
	})
	if j.cmd != nil {
		j.cmd.Kill()
	}
	if err != nil {
		pair.Check(fmt.Errorf("%s: %w; the command printed: %s", j.name, err, j.cmd.Stderr()))
	}
}

// start calls the command and waits until its processes have joined.
func (j *job) start(more ...string) {
	words := append([]string{"demo", "mlr", "--epochs", "1000000", "--set", "early_stop=false", "--json", "--out", filepath.Join(j.folder, j.name), "--checkpoint-every", "100ms"}, more...)
	if j.state != "" {
		words = append(words, "--cluster", "local", "--state", j.state)
	} else if strings.HasPrefix(j.name, "server") {
		words = append(words, "--processes", strconv.Itoa(toServers+1), "--servers", "1")
	} else {
		words = append(words, "--processes", strconv.Itoa(workers))
	}
	j.nodes = map[int]int{}
	j.cmd = follow.Start(j.note, j.program, words...)
	j.await("join of its processes", follow.HasKind("joined"))
}

func (j *job) await(what string, wanted func(follow.Event) bool) follow.Event {
	return j.cmd.Await(what, within, wanted)
}

// awaitVisit waits until something new counts, since a time.
func (j *job) awaitVisit(since time.Time) follow.Event {
	return j.await("visit that counts", func(e follow.Event) bool { return e.Kind == "visited" && e.Time.After(since) })
}

// nodeOf returns the number of a node by its name; 0: it has none.
func nodeOf(name string) (n int) {
	if _, err := fmt.Sscanf(name, "node-%d", &n); err != nil {
		return 0
	}
	return n
}

// isGone returns a function that reports whether an event tells that a node is gone.
func isGone(node int) func(follow.Event) bool {
	return func(e follow.Event) bool { return e.Kind == "gone" && nodeOf(e.Node) == node }
}

// note keeps the list of processes.
func (j *job) note(e follow.Event) {
	switch e.Kind {
	case "checkpoint":
		j.cuts = append(j.cuts, e.Seconds)
	case "rolled-back":
		clear(j.nodes)
	case "joined":
		for name, pid := range e.Processes {
			if n := nodeOf(name); n > 0 {
				j.nodes[n] = pid
			}
		}
	case "gone":
		delete(j.nodes, nodeOf(e.Node))
	}
}

// moment waits for some time, as the seed draws it.
func (j *job) moment() { j.cmd.Rest(time.Duration(50+j.rng.IntN(500)) * time.Millisecond) }

// cutAndMoment waits for a checkpoint and some time after it.
func (j *job) cutAndMoment() {
	j.await("checkpoint", follow.HasKind("checkpoint"))
	j.moment()
}

// took notes the times from a moment until a loss was reported, and until something new counted.
func (j *job) took(from, reported, counts time.Time) {
	j.detected, j.recovered = append(j.detected, reported.Sub(from).Seconds()), append(j.recovered, counts.Sub(from).Seconds())
	j.left--
}

// lose sends a signal to a process, and takes the times until its loss is reported, and until something new counts.
func (j *job) lose(pid int, with syscall.Signal, told func(follow.Event) bool) {
	at := time.Now()
	pair.Check(syscall.Kill(pid, with))
	if with == syscall.SIGSTOP {
		defer syscall.Kill(pid, syscall.SIGCONT) // nothing comes of it, and it ends
	}
	gone := j.await("word of a loss", told).Time
	j.took(at, gone, j.awaitVisit(gone).Time)
}

// loseWorkers returns a function that loses the workers but for the last, one after the other.
func loseWorkers(with syscall.Signal) func(j *job) {
	return func(j *job) {
		for j.left > 0 && len(j.nodes) > 1 {
			j.moment()
			n := j.node()
			j.lose(j.nodes[n], with, isGone(n))
		}
	}
}

// node draws one of those that take part.
func (j *job) node() int {
	list := []int{}
	for n := range j.nodes {
		list = append(list, n)
	}
	slices.Sort(list)
	return list[j.rng.IntN(len(list))]
}

// killServers kills the node that holds the tables, again and again, each time after a checkpoint.
func (j *job) killServers() {
	for j.left > 0 {
		j.cutAndMoment()
		j.lose(j.nodes[toServers+1], syscall.SIGKILL, follow.HasKind("rolled-back"))
	}
}

// killCommands kills the command, and gives it again at once, again and again: the times are until all have joined, and until something new counts.
func (j *job) killCommands() {
	for j.left > 0 {
		j.cutAndMoment()
		at := time.Now()
		j.cmd.Kill()
		j.start()
		joined := time.Now()
		j.awaitVisit(time.Time{})
		j.took(at, joined, time.Now())
	}
}

// settled is how long after its stop a worker may still be given up for it.
const settled = time.Second

// stopShortly stops a worker for a while, again and again, and counts how often it was given up.
func (j *job) stopShortly(long time.Duration) {
	for j.left > 0 && len(j.nodes) > 1 {
		j.moment()
		n := j.node()
		pid := j.nodes[n]
		pair.Check(syscall.Kill(pid, syscall.SIGSTOP))
		_, during := j.cmd.Pass(long, isGone(n))
		err := syscall.Kill(pid, syscall.SIGCONT)
		after := during
		if during == follow.ErrTime {
			pair.Check(err)
			_, after = j.cmd.Pass(settled, isGone(n))
		}
		if after == follow.ErrEnded {
			pair.Check(after)
		}
		j.left--
		j.stopped++
		if after == nil {
			j.lost++
		}
	}
}
