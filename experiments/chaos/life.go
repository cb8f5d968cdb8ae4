package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// life is one call of a job's command, from its start until it has ended.
//
// States: running; over, when the command has ended and all that it wrote was read. Only the goroutine that called
// start uses it, except what mu guards: another one reads the command's output, so that a slow observer never blocks
// the command.
type life struct {
	cmd   *exec.Cmd
	began time.Time
	nodes map[string]process // of the job, as its events tell, node-0 included where it is a process of the job's
	seen  []process          // all that ever were
	said  *os.File           // what it writes to standard error
	last  string             // line that is no event: the answer of `train --json`
	news  time.Time          // when the last event came; zero: none has
	next  int                // of events, to be looked at
	mine  bool               // its end was brought about: a signal to the process that leads
	quiet time.Duration      // how long it may say nothing
	hurt  bool               // nodes were taken from it, so that it may end by their loss
	mute  bool               // the manager was stopped for so long that its callers give up

	mu     sync.Mutex
	events []event
	wake   chan struct{} // has room: there is more
	over   chan struct{} // closed when it has ended
	err    error         // of Wait, once it is over
}

// event is what the log and `train --json` tell of one thing that happened.
type event struct {
	Seq       uint64
	Time      time.Time
	Kind      string
	Node      string
	Sentence  string
	Model     string
	From      string
	Reason    string
	Units     int
	Out       int `json:"out_units"`
	Splits    []int
	Partition *int
	Processes map[string]int
	Steps     []string
	Took      float64 `json:"took_seconds"`
}

// process is a process of this machine: its number may be another's later, its number and when it started are not.
type process struct {
	node    string
	pid     int
	started string
}

// startedAt returns when a process started, in the system's ticks; empty: it does not exist, or it has ended and was
// not waited for.
func startedAt(pid int) string {
	fields := stat(pid)
	if len(fields) < 20 || fields[0] == "X" {
		return ""
	}
	if fields[0] == "Z" { // of its threads the first alone may have ended, and what the process has open is open still
		if threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)); err != nil || len(threads) < 2 {
			return ""
		}
	}
	return fields[19]
}

// stat returns what the system tells of a process, from its state on: that, its parent, and more.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may contain anything
	return strings.Fields(rest)
}

// pids returns the numbers of all processes.
func pids() (list []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

func (p process) alive() bool { return p.started != "" && startedAt(p.pid) == p.started }

// signal sends a signal, unless the process has ended.
func (p process) signal(s syscall.Signal) bool { return p.alive() && syscall.Kill(p.pid, s) == nil }

// start calls a command in a session of its own: signals of this program's terminal do not reach it. Its standard error
// is appended to a file.
func start(folder string, quiet time.Duration, env []string, args ...string) (*life, error) {
	said, err := os.OpenFile(filepath.Join(folder, "said"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	l := &life{cmd: exec.Command(args[0], args[1:]...), began: time.Now(), nodes: map[string]process{}, said: said, quiet: quiet,
		wake: make(chan struct{}, 1), over: make(chan struct{})}
	fmt.Fprintf(said, "== %s\n", strings.Join(args, " "))
	l.cmd.Dir, l.cmd.Stderr, l.cmd.Env = folder, said, env
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := l.cmd.StdoutPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, said.Close())
	}
	go l.read(out)
	return l, nil
}

// read takes in what the command writes, until its end.
func (l *life) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e event
		wrong := json.Unmarshal(lines.Bytes(), &e) != nil || e.Kind == ""
		l.mu.Lock()
		if wrong {
			l.last = string(bytes.Clone(lines.Bytes()))
		} else {
			l.events = append(l.events, e)
		}
		l.mu.Unlock()
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	err := errors.Join(lines.Err(), l.cmd.Wait())
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
	l.said.Close()
	close(l.over)
}

// take returns the next event that was not looked at.
func (l *life) take() (e event, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == len(l.events) {
		return e, false
	}
	l.next++
	l.news = time.Now()
	return l.events[l.next-1], true
}

// came is the outcome of a wait.
type came int

const (
	met    came = iota // what was waited for
	late               // the time has passed
	over               // the command has ended
	nobody             // no process it could be done to
)

// silentMost is how long a job may say nothing at all. Each that is run here says something several times a second, unless it is stopped, for less than this.
const silentMost = 90 * time.Second

// errHangs is the error of a job without progress.
var errHangs = errors.New("the job hangs")

// await looks at events as they come until one is wanted, the time has passed, or the command has ended.
func (l *life) await(within time.Duration, wanted func(event) bool) (came, event, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		for e, ok := l.take(); ok; e, ok = l.take() {
			l.note(e)
			if wanted != nil && wanted(e) {
				return met, e, nil
			}
		}
		silent := time.NewTimer(l.patience())
		select {
		case <-l.wake:
		case <-timer.C:
			silent.Stop()
			return late, event{}, nil
		case <-l.over:
			silent.Stop()
			for e, ok := l.take(); ok; e, ok = l.take() {
				l.note(e)
				if wanted != nil && wanted(e) {
					return met, e, nil
				}
			}
			return over, event{}, nil
		case <-silent.C:
			return late, event{}, fmt.Errorf("%w: it has said nothing for %v", errHangs, l.quiet)
		}
		silent.Stop()
	}
}

// patience returns how long the job may be silent from now on. Its first output has another bound: its processes must
// join.
func (l *life) patience() time.Duration {
	if l.news.IsZero() {
		return max(l.quiet, 2*noticeMost)
	}
	return time.Until(l.news.Add(l.quiet))
}

// note keeps the list of the job's processes.
func (l *life) note(e event) {
	switch e.Kind {
	case "joined":
		for node, pid := range e.Processes {
			p := process{node, pid, startedAt(pid)}
			l.nodes[node] = p
			l.seen = append(l.seen, p)
		}
	case "gone", "left":
		delete(l.nodes, e.Node)
	case "rolled-back", "interrupted", "resumed":
		clear(l.nodes)
	}
}

// others returns the job's processes but for the one that leads, in the order of their names.
func (l *life) others() (list []process) {
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		if p := l.nodes[name]; name != leader && p.alive() {
			list = append(list, p)
		}
	}
	return list
}

const leader = "node-0"

// leads returns the process that leads the job.
func (l *life) leads() process {
	if p, ok := l.nodes[leader]; ok {
		return p
	}
	return process{leader, l.cmd.Process.Pid, startedAt(l.cmd.Process.Pid)}
}

// code returns how the command has ended: -1 is by a signal.
func (l *life) code() int { return l.cmd.ProcessState.ExitCode() }

// dump makes all processes of a hanging job write the stacks of their goroutines, and end; those that do not are
// killed.
func (l *life) dump() {
	list := append(l.others(), l.leads(), process{"command", l.cmd.Process.Pid, startedAt(l.cmd.Process.Pid)})
	for _, p := range list {
		p.signal(syscall.SIGCONT)
		p.signal(syscall.SIGQUIT)
	}
	awaitEnd(list, 10*time.Second)
	for _, p := range list {
		p.signal(syscall.SIGKILL)
	}
	<-l.over
}

// awaitEnd waits until processes have ended, and returns those that have not in time.
func awaitEnd(list []process, within time.Duration) (left []process) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		left = nil
		for _, p := range list {
			if p.alive() {
				left = append(left, p)
			}
		}
		if left == nil || time.Since(began) > within {
			return left
		}
	}
}
