package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// cluster is a local cluster of one job: `up` has started it, and `down` ends it.
type cluster struct {
	j                *job
	env              []string
	workers, servers int
	aside            *aside // a command that was given and has not ended; nil: none
	manager          process
	network          *network // nil: all nodes are of this machine
}

// state is the cluster's folder for what concerns it.
func (c *cluster) state() string { return filepath.Join(c.j.folder, "state") }

// The bounds of what is asked of a cluster.
const (
	upMost    = time.Minute
	asideMost = 90 * time.Second
)

// up brings the cluster up, or up again.
func (c *cluster) up() error {
	args := []string{"up", "--workers", strconv.Itoa(c.workers), "--servers", strconv.Itoa(c.servers), "--slots", "1", "--json"}
	if c.network != nil {
		args = append(args, "--listen", at(0)+":7070")
	}
	text, err := c.call(upMost, args...)
	if err != nil {
		return fmt.Errorf("up: %w; %s", err, text)
	}
	pid, err := number(text, `"pid":`)
	c.manager = process{"manager", pid, startedAt(pid)}
	return err
}

// number is the number behind the first place of a text that reads so.
func number(text, behind string) (n int, err error) {
	for i := range text {
		if len(text)-i > len(behind) && text[i:i+len(behind)] == behind {
			_, err = fmt.Sscanf(text[i+len(behind):], "%d", &n)
			return n, err
		}
	}
	return 0, fmt.Errorf("there is no %s in %q", behind, text)
}

// ready brings the cluster up again if its manager has ended, and has it have all its nodes.
func (c *cluster) ready() error {
	if !c.manager.alive() {
		if err := c.up(); err != nil || c.network == nil {
			return err
		}
	}
	if c.network != nil {
		return c.join()
	}
	text, err := c.call(asideMost, "scale", "--workers", strconv.Itoa(c.workers), "--servers", strconv.Itoa(c.servers))
	if err != nil {
		return fmt.Errorf("scale, with no job: %w; %s", err, text)
	}
	return nil
}

// down ends the cluster.
func (c *cluster) down() error {
	err := c.settle()
	if c.network != nil {
		err = errors.Join(err, c.network.leave())
	}
	text, wrong := c.call(asideMost, "down")
	if wrong != nil {
		err = errors.Join(err, fmt.Errorf("down: %w; %s", wrong, text))
	}
	if c.network != nil {
		err = errors.Join(err, c.network.close())
	}
	return err
}

// call gives a command and waits for its end.
func (c *cluster) call(within time.Duration, args ...string) (string, error) {
	a, err := c.give(args...)
	if err != nil {
		return "", err
	}
	return a.wait(within)
}

// aside is a command beside that of the job.
type aside struct {
	cmd  *exec.Cmd
	out  string // file with what it says
	over chan struct{}
	err  error
}

// give gives a command.
func (c *cluster) give(args ...string) (*aside, error) { return c.giveIn(0, c.env, args...) }

// giveIn gives a command in a namespace, where there are some.
func (c *cluster) giveIn(i int, env []string, args ...string) (*aside, error) {
	f, err := os.CreateTemp(c.j.folder, "aside-")
	if err != nil {
		return nil, err
	}
	args = c.words(i, args)
	a := &aside{cmd: exec.Command(args[0], args[1:]...), out: f.Name(), over: make(chan struct{})}
	a.cmd.Dir, a.cmd.Env, a.cmd.Stdout, a.cmd.Stderr = c.j.folder, env, f, f
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := a.cmd.Start(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	go func() {
		a.err = errors.Join(a.cmd.Wait(), f.Close())
		close(a.over)
	}()
	return a, nil
}

// words is a command of this program, in a namespace where there are some.
func (c *cluster) words(i int, args []string) []string {
	args = append([]string{c.j.program}, args...)
	if c.network != nil {
		return c.network.within(i, args)
	}
	return args
}

// wait waits for its end. One that does not end writes down what its goroutines do.
func (a *aside) wait(within time.Duration) (string, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	var late error
	select {
	case <-a.over:
	case <-timer.C:
		late = fmt.Errorf("%w: %q has not ended after %v", errHangs, a.cmd.Args, within)
		_ = a.cmd.Process.Signal(syscall.SIGQUIT)
		<-a.over
	}
	text, err := os.ReadFile(a.out)
	return string(text), errors.Join(late, a.err, err)
}

// answers are the exit codes by which a command may refuse what a job in trouble cannot do: unavailable, not allowed, a node that is not there any more, more nodes than splits, lost nodes, interrupted.
var answers = []int{0, 69, 77, 64, 78, lostNodes, interrupted}

// settle waits for the command that was given beside the job, and refuses what no command may answer.
func (c *cluster) settle() error {
	a := c.aside
	if a == nil {
		return nil
	}
	c.aside = nil
	text, err := a.wait(asideMost)
	if code := a.cmd.ProcessState.ExitCode(); errors.Is(err, errHangs) || !slices.Contains(answers, code) {
		return fmt.Errorf("%q ends with exit code %d: %w; %s", a.cmd.Args, code, err, text)
	}
	return nil
}

// The acts on a job of a cluster.
var clusterActs = []act{
	{"scale", 6, func(j *job, l *life) (came, error) { return j.scale(l, false) }},
	{"kill while it scales", 7, (*job).killScaling},
	{"drain", 3, (*job).drainNode},
	{"kill a worker", 3, func(j *job, l *life) (came, error) { return j.kill(l, j.any(l)) }},
	{"stop a process for a moment", 2, (*job).pause},
	{"kill the manager", 1, (*job).killManager},
}

// inCluster makes the job one of a cluster of its own.
func (j *job) inCluster() {
	j.cluster = &cluster{j: j, workers: 2 + j.rng.IntN(2), servers: j.rng.IntN(3)}
	j.cluster.env = append(os.Environ(), "XDG_STATE_HOME="+j.cluster.state())
	j.words = append([]string{"demo", j.app.name, "--out", "run", "--json", "--checkpoint-every", "50ms", "--cluster", "local"}, j.app.args()...)
	j.processes, j.servers = 0, 0
}

// scale asks for other numbers of nodes; wait: until that has been decided.
func (j *job) scale(l *life, wait bool) (came, error) {
	c := j.cluster
	if err := c.settle(); err != nil {
		return late, err
	}
	args := []string{"scale", "--workers", strconv.Itoa(1 + j.rng.IntN(5))}
	if c.servers > 0 {
		args = append(args, "--servers", strconv.Itoa(1+j.rng.IntN(3)))
	}
	return j.askCluster(l, wait, args...)
}

func (j *job) askCluster(l *life, wait bool, args ...string) (k came, err error) {
	if j.cluster.aside, err = j.cluster.give(args...); err != nil || !wait && j.rng.IntN(3) == 0 {
		return late, err
	}
	k, _, err = l.await(4*time.Second, func(e event) bool { return e.Kind == "plan" && len(e.Steps) > 0 })
	return k, err
}

// drainNode asks for a node to leave.
func (j *job) drainNode(l *life) (came, error) {
	p := j.any(l)
	if p.pid == 0 {
		return late, nil
	}
	if err := j.cluster.settle(); err != nil {
		return late, err
	}
	return j.askCluster(l, false, "drain", p.node, "--notice", fmt.Sprint(1+j.rng.IntN(10), "s"))
}

// killScaling kills a node while others come or leave.
func (j *job) killScaling(l *life) (came, error) {
	k, err := j.scale(l, true)
	if k == over || err != nil {
		return k, err
	}
	if k, _, err = l.await(time.Duration(j.rng.IntN(6))*time.Millisecond, nil); k == over || err != nil {
		return k, err
	}
	return j.kill(l, j.any(l))
}

// killManager kills the process that has the cluster, and brings that up again: the job is interrupted, and goes on by itself, followed by the same command.
func (j *job) killManager(l *life) (came, error) {
	l.mine = true
	if err := j.cluster.settle(); err != nil {
		return late, err
	}
	if !j.cluster.manager.signal(syscall.SIGKILL) {
		return late, nil
	}
	if left := awaitEnd([]process{j.cluster.manager}, noticeMost); left != nil {
		return late, fmt.Errorf("the manager, process %d, was killed, and lives", left[0].pid)
	}
	clear(l.nodes)
	if err := j.cluster.up(); err != nil {
		return late, err
	}
	return j.goesOn(l)
}
