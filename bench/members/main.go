// Command members shows what a job of a cluster notices when one of the three etcd servers that are the cluster's registry is killed, each in its turn, so that the one that leads them is among them: the time from one epoch
// to the next, told by the job, in the seconds behind each loss and before it.
//
// It builds the program and, from their own module, the etcd servers; it starts these, the cluster and one job, `demo mlr`, and ends them all. A server that was killed is started again before the next.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

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

func main() {
	losses := flag.Int("losses", 3, "how many servers are killed")
	pair.Main(1, 1, func(b *pair.Bench) {
		b.Header("members: a server of a cluster's registry is lost, and what its job notices")
		pair.Check(measure(b, *losses))
	})
}

// source is the module of the program that runs etcd servers.
const source = "port/registry/etcd/etcdtest"

// build builds bellows and the program that runs etcd servers.
func build(folder string) (program, members string, err error) {
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		return "", "", fmt.Errorf("run this from the root of the repository: %w", err)
	}
	program, members = filepath.Join(folder, "bellows"), filepath.Join(folder, "members")
	if err := pair.Build(program); err != nil {
		return "", "", err
	}
	_, _, err = pair.Once("go build", "go", nil, "build", "-C", source, "-o", members, "./members")
	return program, members, err
}

// server is one of the three.
type server struct {
	cmd *exec.Cmd
	in  io.Closer
}

// start starts a server, which is ready when the others are there.
func start(program, name, folder string) (*server, <-chan error, error) {
	cmd := exec.Command(program, folder, name)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	ready := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	go func() {
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			err = fmt.Errorf("server %s says %q: %w", name, line, err)
		}
		ready <- err
	}()
	return &server{cmd, in}, ready, nil
}

// kill ends a server as a lost machine does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.in.Close()
	_ = s.cmd.Wait() // it was killed
}

// wait waits for what is told once, within its bound.
func wait(what string, told <-chan error) error {
	select {
	case err := <-told:
		return err
	case <-time.After(within):
		return fmt.Errorf("%v were waited for %s", within, what)
	}
}

// epochs are the times at which the job has told of one.
type epochs struct {
	mu   sync.Mutex
	list []time.Time
	last string // line that was no epoch
}

func (e *epochs) read(from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var l struct {
			Kind string
			Time time.Time
		}
		e.mu.Lock()
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.Kind == "epoch" {
			e.list = append(e.list, l.Time)
		} else {
			e.last = lines.Text()
		}
		e.mu.Unlock()
	}
}

// gaps are the seconds from one epoch to the next that end in a stretch of time.
func (e *epochs) gaps(from, to time.Time) (list []float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := 1; i < len(e.list); i++ {
		if at := e.list[i]; at.After(from) && !at.After(to) {
			list = append(list, at.Sub(e.list[i-1]).Seconds())
		}
	}
	return list
}

func measure(b *pair.Bench, losses int) (err error) {
	folder, err := os.MkdirTemp("", "bellows-members-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program, members, err := build(folder)
	if err != nil {
		return err
	}
	servers, ready := map[string]*server{}, map[string]<-chan error{}
	defer func() {
		for _, s := range servers {
			s.kill()
		}
	}()
	etcd := ""
	for _, name := range names {
		if servers[name], ready[name], err = start(members, name, folder); err != nil {
			return err
		}
		etcd += ",unix://" + filepath.Join(folder, name+":1")
	}
	for _, name := range names {
		if err := wait("a server", ready[name]); err != nil {
			return err
		}
	}
	command := func(words ...string) error {
		cmd := exec.Command(program, append(words, "--state", filepath.Join(folder, "state"))...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("bellows %s: %w: %s", words[0], err, text)
		}
		return nil
	}
	if err := command("up", "--workers", "2", "--slots", "1", "--etcd", etcd[1:]); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, command("down")) }()
	job := exec.Command(program, "demo", "mlr", "--epochs", "10000000", "--set", "early_stop=false", "--cluster", "local", "--state", filepath.Join(folder, "state"), "--out", filepath.Join(folder, "run"), "--json")
	out, err := job.StdoutPipe()
	if err != nil {
		return err
	}
	if err := job.Start(); err != nil {
		return err
	}
	seen, ended := &epochs{}, make(chan error, 1)
	go func() {
		seen.read(out)
		ended <- fmt.Errorf("the job has ended: %s", seen.last)
	}()
	defer func() {
		_ = job.Process.Kill() // who watches the job; the job ends with its cluster
		<-ended
		_ = job.Wait() // it was killed
	}()
	pass := func(long time.Duration) error {
		select {
		case err := <-ended:
			ended <- err
			return err
		case <-time.After(long):
			return nil
		}
	}
	if err := pass(3 * time.Second); err != nil { // until it has begun
		return err
	}
	var quiet, lost, other, longest []float64
	for i := range losses {
		name := names[i%len(names)]
		if err := pass(2 * before); err != nil {
			return err
		}
		at := time.Now()
		servers[name].kill()
		if err := pass(behind); err != nil {
			return err
		}
		lost, quiet, other = append(lost, seen.gaps(at, at.Add(behind))...), append(quiet, seen.gaps(at.Add(-before), at)...), append(other, seen.gaps(at.Add(-2*before), at.Add(-before))...)
		longest = append(longest, pair.SpreadOf(seen.gaps(at, at.Add(behind))).Max)
		if servers[name], ready[name], err = start(members, name, folder); err != nil {
			return err
		}
		if err := wait("a server that is there again", ready[name]); err != nil {
			return err
		}
	}
	if len(quiet) < 100 || len(lost) < 100 {
		return fmt.Errorf("%d epochs before losses and %d behind them: that shows nothing", len(quiet), len(lost))
	}
	tail := func(list []float64) float64 { return pair.QuantileOf(0.99, list).Value }
	b.Section(fmt.Sprintf("demo mlr, a cluster of two nodes, %d servers killed", losses))
	b.Note("an epoch takes %.4g s in the median before a loss and %.4g behind it; at the 99th percentile %v before and %v behind", pair.Median(quiet).Value, pair.Median(lost).Value, pair.QuantileOf(0.99, quiet), pair.QuantileOf(0.99, lost))
	b.Note("the longest behind each loss: %v s; the longest before any: %.4g s", pair.SpreadOf(longest), pair.SpreadOf(quiet).Max)
	b.Note("before a loss beside before that: %.3f times", tail(quiet)/tail(other))
	b.AddFact(pair.Fact{Figure: fmt.Sprintf("an epoch behind a loss in times of before, 99th percentiles of %d and %d", len(lost), len(quiet)), Ours: tail(lost) / tail(quiet), Peer: "limit", Bound: most, Exact: true})
	return nil
}
