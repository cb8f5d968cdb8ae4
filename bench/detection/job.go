package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
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

	cmd    *exec.Cmd
	events chan event
	nodes  map[int]int // processes that take part, by node
	state  string      // of the cluster that it is a job of; "": none
}

// event is what `demo --json` tells.
type event struct {
	Time      time.Time
	Kind      string
	Node      string
	Sentence  string
	Processes map[string]int
	Within    float64 `json:"checkpoint_seconds"`
}

// The bounds of what is waited for, and the processes of a job.
const (
	within    = time.Minute
	workers   = 5
	toServers = 3 // workers of a job that loses servers
)

// run calls the command, has something done to it until it is of no use any more, and ends it.
func (j *job) run(do func(j *job) error) (err error) {
	if strings.HasPrefix(j.name, "leader") {
		end, up := j.inCluster()
		if up != nil {
			return up
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	return j.inTurn(do)
}

// inTurn is run where all is there that the command needs.
func (j *job) inTurn(do func(j *job) error) error {
	err := j.start("--fresh")
	if err == nil {
		err = do(j)
	}
	if err != nil {
		text, _ := os.ReadFile(j.said())
		err = fmt.Errorf("%s: %w; the command said: %s", j.name, err, text[max(0, len(text)-2000):])
	}
	return errors.Join(err, j.kill())
}

// said is the file that the command says things to people in.
func (j *job) said() string { return filepath.Join(j.folder, j.name+".said") }

// start calls the command and waits until its processes have joined.
func (j *job) start(more ...string) error {
	words := append([]string{"demo", "mlr", "--epochs", "1000000", "--set", "early_stop=false", "--json", "--out", filepath.Join(j.folder, j.name), "--checkpoint-every", "100ms"}, more...)
	if j.state != "" {
		words = append(words, "--cluster", "local", "--state", j.state)
	} else if strings.HasPrefix(j.name, "server") {
		words = append(words, "--processes", strconv.Itoa(toServers+1), "--servers", "1")
	} else {
		words = append(words, "--processes", strconv.Itoa(workers))
	}
	j.cmd, j.events, j.nodes = exec.Command(j.program, words...), make(chan event, 1<<16), map[int]int{}
	said, err := os.OpenFile(j.said(), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	defer said.Close() // the command has its own
	j.cmd.Stderr = said
	out, err := j.cmd.StdoutPipe()
	if err == nil {
		err = j.cmd.Start()
	}
	if err != nil {
		close(j.events)
		j.cmd = nil
		return err
	}
	go j.read(out)
	_, err = j.await("its processes to join", func(e event) bool { return e.Kind == "joined" })
	return err
}

// kill kills the command, if it runs, and waits for its end.
func (j *job) kill() error {
	if j.cmd == nil {
		return nil
	}
	err := j.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	for range j.events { // until its end
	}
	if wait := j.cmd.Wait(); wait != nil && !errors.As(wait, new(*exec.ExitError)) {
		err = errors.Join(err, wait)
	}
	return err
}

// read reads what the command tells, until its end.
func (j *job) read(out io.Reader) {
	defer close(j.events)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Kind != "" {
			j.events <- e
		}
	}
}

// await waits for an event.
func (j *job) await(what string, wanted func(event) bool) (event, error) {
	e, _, err := j.awaitFor(within, wanted)
	if err == nil && !wanted(e) {
		err = fmt.Errorf("%v were waited for %s", within, what)
	}
	return e, err
}

// awaitFor waits for an event, or until some time has passed.
func (j *job) awaitFor(long time.Duration, wanted func(event) bool) (_ event, met bool, err error) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	for {
		select {
		case e, more := <-j.events:
			if !more {
				return e, false, errors.New("the command has ended")
			}
			j.note(e)
			if wanted(e) {
				return e, true, nil
			}
		case <-timer.C:
			return event{}, false, nil
		}
	}
}

// note keeps the list of processes.
func (j *job) note(e event) {
	switch e.Kind {
	case "checkpoint":
		j.cuts = append(j.cuts, e.Within)
	case "rolled-back":
		clear(j.nodes)
	case "joined":
		for name, pid := range e.Processes {
			var n int
			if _, err := fmt.Sscanf(name, "node-%d", &n); err == nil && n > 0 {
				j.nodes[n] = pid
			}
		}
	case "gone":
		var n int
		if _, err := fmt.Sscanf(e.Node, "node-%d", &n); err == nil {
			delete(j.nodes, n)
		}
	}
}

// moment waits for some time, as the seed draws it.
func (j *job) moment() error {
	_, _, err := j.awaitFor(time.Duration(50+j.rng.IntN(500))*time.Millisecond, func(event) bool { return false })
	return err
}

// lose sends a signal to a process, and takes the times until its loss is told, and until something new counts.
func (j *job) lose(pid int, with syscall.Signal, told func(event) bool) error {
	at := time.Now()
	if err := syscall.Kill(pid, with); err != nil {
		return err
	}
	e, err := j.await("a loss to be told", told)
	if err != nil {
		return err
	}
	if with == syscall.SIGSTOP {
		defer syscall.Kill(pid, syscall.SIGCONT) // nothing comes of it, and it ends
	}
	gone := e.Time
	if e, err = j.await("something to count", func(e event) bool { return e.Kind == "visited" && e.Time.After(gone) }); err != nil {
		return err
	}
	j.detected, j.recovered = append(j.detected, gone.Sub(at).Seconds()), append(j.recovered, e.Time.Sub(at).Seconds())
	j.left--
	return nil
}

// loseWorkers loses the workers but for the last, one after the other.
func (j *job) loseWorkers(with syscall.Signal) error {
	for j.left > 0 && len(j.nodes) > 1 {
		if err := j.moment(); err != nil {
			return err
		}
		n := j.node()
		if err := j.lose(j.nodes[n], with, func(e event) bool { return e.Kind == "gone" && e.Node == fmt.Sprint("node-", n) }); err != nil {
			return err
		}
	}
	return nil
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

func (j *job) killWorkers() error { return j.loseWorkers(syscall.SIGKILL) }
func (j *job) stopWorkers() error { return j.loseWorkers(syscall.SIGSTOP) }

// killServers kills the node that holds the tables, again and again, each time behind a checkpoint.
func (j *job) killServers() error {
	for j.left > 0 {
		if _, err := j.await("a checkpoint", func(e event) bool { return e.Kind == "checkpoint" }); err != nil {
			return err
		}
		if err := j.moment(); err != nil {
			return err
		}
		if err := j.lose(j.nodes[toServers+1], syscall.SIGKILL, func(e event) bool { return e.Kind == "rolled-back" }); err != nil {
			return err
		}
	}
	return nil
}

// killCommands kills the command, and gives it again at once, again and again: the times are until all have joined, and until something new counts.
func (j *job) killCommands() error {
	for j.left > 0 {
		if _, err := j.await("a checkpoint", func(e event) bool { return e.Kind == "checkpoint" }); err != nil {
			return err
		}
		if err := j.moment(); err != nil {
			return err
		}
		at := time.Now()
		if err := j.kill(); err != nil {
			return err
		}
		if err := j.start(); err != nil {
			return err
		}
		joined := time.Since(at)
		if _, err := j.await("something to count", func(e event) bool { return e.Kind == "visited" }); err != nil {
			return err
		}
		j.detected, j.recovered = append(j.detected, joined.Seconds()), append(j.recovered, time.Since(at).Seconds())
		j.left--
	}
	return nil
}

// settled is how long behind its stop a worker may still be given up for it.
const settled = time.Second

// stopShortly stops a worker for a while, again and again, and counts how often it was given up.
func (j *job) stopShortly(long time.Duration) error {
	for j.left > 0 && len(j.nodes) > 1 {
		if err := j.moment(); err != nil {
			return err
		}
		n := j.node()
		pid, gone := j.nodes[n], func(e event) bool { return e.Kind == "gone" && e.Node == fmt.Sprint("node-", n) }
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
		_, lost, err := j.awaitFor(long, gone)
		if e := syscall.Kill(pid, syscall.SIGCONT); err == nil && e != nil {
			err = e
		}
		if err == nil && !lost {
			_, lost, err = j.awaitFor(settled, gone)
		}
		if err != nil {
			return err
		}
		j.left--
		j.stopped++
		if lost {
			j.lost++
		}
	}
	return nil
}
