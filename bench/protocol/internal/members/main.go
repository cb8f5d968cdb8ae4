// Package members measures what a cluster's job notices when one of the three etcd servers of the cluster's registry is
// killed. Each is killed once, also the one that leads them. The job reports the time from one epoch to the
// next, in the seconds before and after each loss.
//
// It builds the program and, from their own module, the etcd servers; it starts these, the cluster and one job, `demo mlr`, and ends them all. A server that was killed is started again before the next.
package members

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"bellows/bench/internal/follow"
	"bellows/bench/internal/pair"
)

var names = []string{"a", "b", "c"}

// The stretches of time around a loss, and the bounds of what is waited for.
const (
	before = 3 * time.Second
	behind = 3 * time.Second
	within = time.Minute
	most   = 1.1 // times that the 99th percentile may be of what it is before
)

// Program is the measurement.
var Program = pair.Program{Name: "members", Turns: [2]int{1, 1}, Define: define}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	losses := flags.Int("losses", 3, "how many servers are killed")
	return func(b *pair.Bench) {
		b.Header("members: a server of a cluster's registry is lost, and what its job notices")
		measure(b, *losses)
	}
}

// source is the module of the program that runs etcd servers.
const source = "port/registry/etcd/etcdtest"

// build builds bellows and the program that runs etcd servers.
func build(folder string) (program, members string) {
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		pair.Check(fmt.Errorf("run this from the root of the repository: %w", err))
	}
	program, members = filepath.Join(folder, "bellows"), filepath.Join(folder, "members")
	pair.Build(program)
	pair.RunProgram("go build", "go", nil, "build", "-C", source, "-o", members, "./members")
	return program, members
}

// server is one of the three.
type server struct {
	cmd   *exec.Cmd
	in    io.Closer
	ready chan error
}

// start starts a server, which is ready when the others are there.
func start(program, name, folder string) *server {
	s := &server{cmd: exec.Command(program, folder, name), ready: make(chan error, 1)}
	s.in = pair.Must(s.cmd.StdinPipe())
	out := pair.Must(s.cmd.StdoutPipe())
	pair.Check(s.cmd.Start())
	go func() {
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			err = fmt.Errorf("server %s says %q: %w", name, line, err)
		}
		s.ready <- err
	}()
	return s
}

// await waits until the server is ready.
func (s *server) await() {
	select {
	case err := <-s.ready:
		pair.Check(err)
	case <-time.After(within):
		pair.Check(fmt.Errorf("a server was not ready within %v", within))
	}
}

// kill ends a server as a lost machine does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.in.Close()
	_ = s.cmd.Wait() // it was killed
}

// epochs are the times at which the job has told of one.
type epochs []time.Time

// gaps returns the seconds from one epoch to the next that end in a stretch of time.
func (e epochs) gaps(from, to time.Time) (list []float64) {
	for i := 1; i < len(e); i++ {
		if at := e[i]; at.After(from) && !at.After(to) {
			list = append(list, at.Sub(e[i-1]).Seconds())
		}
	}
	return list
}

func measure(b *pair.Bench, losses int) {
	folder := pair.Must(os.MkdirTemp("", "bellows-members-"))
	defer os.RemoveAll(folder)
	program, members := build(folder)
	servers := map[string]*server{}
	defer func() {
		for _, s := range servers {
			s.kill()
		}
	}()
	etcd := ""
	for _, name := range names {
		servers[name] = start(members, name, folder)
		etcd += ",unix://" + filepath.Join(folder, name+":1")
	}
	for _, name := range names {
		servers[name].await()
	}
	state := filepath.Join(folder, "state")
	command := func(words ...string) {
		if text, err := exec.Command(program, append(words, "--state", state)...).CombinedOutput(); err != nil {
			pair.Check(fmt.Errorf("bellows %s: %w: %s", words[0], err, text))
		}
	}
	command("up", "--workers", "2", "--slots", "1", "--etcd", etcd[1:])
	defer command("down")
	var seen epochs
	job := follow.Start(func(e follow.Event) {
		if e.Kind == "epoch" {
			seen = append(seen, e.Time)
		}
	}, program, "demo", "mlr", "--epochs", "10000000", "--set", "early_stop=false", "--cluster", "local", "--state", state, "--out", filepath.Join(folder, "run"), "--json")
	defer job.Kill()          // the process that watches the job, which ends with its cluster
	job.Rest(3 * time.Second) // until it has begun
	var quiet, lost, other, longest []float64
	for i := range losses {
		name := names[i%len(names)]
		job.Rest(2 * before)
		at := time.Now()
		servers[name].kill()
		job.Rest(behind)
		now := seen.gaps(at, at.Add(behind))
		lost, quiet, other = append(lost, now...), append(quiet, seen.gaps(at.Add(-before), at)...), append(other, seen.gaps(at.Add(-2*before), at.Add(-before))...)
		longest = append(longest, pair.SpreadOf(now).Max)
		servers[name] = start(members, name, folder)
		servers[name].await()
	}
	if len(quiet) < 100 || len(lost) < 100 {
		pair.Check(fmt.Errorf("%d epochs before losses and %d after them: that shows nothing", len(quiet), len(lost)))
	}
	tail := func(list []float64) float64 { return pair.QuantileOf(0.99, list).Value }
	b.Section(fmt.Sprintf("demo mlr, a cluster of two nodes, %d servers killed", losses))
	b.Note("an epoch takes %.4g s in the median before a loss and %.4g after it; at the 99th percentile %v before and %v after", pair.Median(quiet).Value, pair.Median(lost).Value, pair.QuantileOf(0.99, quiet), pair.QuantileOf(0.99, lost))
	b.Note("the longest after each loss: %v s; the longest before any: %.4g s", pair.SpreadOf(longest), pair.SpreadOf(quiet).Max)
	b.Note("before a loss beside before that: %.3f times", tail(quiet)/tail(other))
	b.AddFact(pair.Fact{Figure: fmt.Sprintf("an epoch after a loss beside one before, 99th percentiles of %d and %d", len(lost), len(quiet)), Ours: tail(lost) / tail(quiet), Peer: "limit", Bound: most, Exact: true})
}
