package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// state returns the cluster's folder for what concerns it.
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
		args = append(args, "--listen", addressOf(0)+":7070")
	}
	c.hear()
	text, err := c.call(upMost, args...)
	if err != nil {
		return fmt.Errorf("up: %w; %s", err, text)
	}
	c.j.told = append(c.j.told, text...)
	pid, err := number(text, `"pid":`)
	c.manager = process{"manager", pid, startedAt(pid)}
	return err
}

// number returns the first number after a text.
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
		return c.gather()
	}
	text, err := c.call(asideMost, "scale", "--workers", strconv.Itoa(c.workers), "--servers", strconv.Itoa(c.servers))
	if err != nil {
		return fmt.Errorf("scale, with no job: %w; %s", err, text)
	}
	return nil
}

// hear keeps what the cluster's log tells: that of a manager that was killed is taken away by the next one.
func (c *cluster) hear() {
	text, err := os.ReadFile(filepath.Join(c.state(), "bellows", "cluster", "manager.log"))
	if err == nil { // none before the first
		c.j.told = append(c.j.told, text...)
	}
}

// gather makes the other machines join, and waits until they have.
func (c *cluster) gather() error {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if err := c.join(); err != nil { // one that was killed may have ended only now
			return err
		}
		s, err := c.status()
		there := 0
		for _, m := range s.Nodes {
			if m.Host != addressOf(0) && m.State != "gone" {
				there++
			}
		}
		if err != nil || there == apart {
			return err
		}
		if time.Since(began) > upMost {
			return fmt.Errorf("%w: after %v %d of %d other machines have joined", errHangs, upMost, there, apart)
		}
	}
}

// takeDown ends the cluster.
func (c *cluster) takeDown() error {
	err := c.settle()
	c.hear()
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
	text, err := a.wait(within)
	if err == nil {
		err = os.Remove(a.out)
	}
	return text, err
}

// aside is a command in addition to that of the job.
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

// words returns a command of this program, in a namespace where there are some.
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

// settle waits for the command that runs in addition to the job, and refuses invalid answers.
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

// inCluster makes the job one of a cluster of its own. If that has links, its checkpoints are in a folder that all of
// its machines reach.
func (j *job) inCluster() {
	j.cluster = &cluster{j: j, workers: 2 + j.rng.IntN(2), servers: j.rng.IntN(3)}
	j.cluster.env = append(os.Environ(), "XDG_STATE_HOME="+j.cluster.state())
	j.words = append(j.words, "--checkpoint-every", "50ms", "--cluster", "local")
	if j.world == ofLinks {
		j.words = append(j.words, "--checkpoint", filepath.Join(j.folder, "checkpoints"))
		j.cluster.workers, j.cluster.servers = 1, 0
	}
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
	p := j.anyOther(l)
	if p.pid == 0 {
		return nobody, nil
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
	return j.kill(l, j.anyOther(l))
}

// killManager kills the manager, and starts it again: the job is interrupted, and resumes, followed by the same
// command.
func (j *job) killManager(l *life) (came, error) { return j.fell(l, []process{j.cluster.manager}) }

// killAll kills all that is of the cluster at once, as a power cut does, and brings it up again.
func (j *job) killAll(l *life) (came, error) {
	list := []process{j.cluster.manager}
	if n := j.cluster.network; n != nil {
		for _, a := range n.joined[1:] {
			list = append(list, process{"agent", a.cmd.Process.Pid, startedAt(a.cmd.Process.Pid)})
		}
	}
	return j.fell(l, below(list))
}

// fell kills processes of the cluster, the manager among them.
func (j *job) fell(l *life, list []process) (came, error) {
	l.mine = true
	if err := j.cluster.settle(); err != nil {
		return late, err
	}
	for _, p := range list {
		p.signal(syscall.SIGKILL)
	}
	if left := awaitEnd(list, noticeMost); left != nil {
		return late, fmt.Errorf("%s, process %d, was killed, and is alive", left[0].node, left[0].pid)
	}
	clear(l.nodes)
	if err := j.cluster.up(); err != nil {
		return late, err
	}
	if j.cluster.network != nil {
		if err := j.cluster.join(); err != nil {
			return late, err
		}
	}
	return j.goesOn(l)
}

// below returns processes with all their descendants.
func below(list []process) []process {
	parents := map[int][]int{}
	for _, pid := range pids() {
		if fields := stat(pid); len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			parents[parent] = append(parents[parent], pid)
		}
	}
	for i := 0; i < len(list); i++ {
		for _, pid := range parents[list[i].pid] {
			list = append(list, process{"what descends from " + list[0].node, pid, startedAt(pid)})
		}
		delete(parents, list[i].pid)
	}
	return list
}

// killLeader kills the job's leader, and waits until the log has the outcome. If another one follows while the nodes
// continue, these are the same processes as before.
func (j *job) killLeader(l *life) (came, error) {
	p, err := j.leads(l)
	if err != nil {
		return late, err
	}
	before := l.others()
	l.hurt = true
	if !p.signal(syscall.SIGKILL) {
		return nobody, nil
	}
	c, e, err := l.await(noticeMost, ledAnew)
	if c == late && err == nil {
		err = fmt.Errorf("%w: the process that leads it was killed, and after %v nothing tells of it", errHangs, noticeMost)
	}
	if c != met || err != nil {
		return c, err
	}
	if e.Kind == "taken-over" && !slices.ContainsFunc(before, func(p process) bool { return !p.alive() }) {
		j.unchanged++
	}
	return j.goesOn(l)
}

// ledAnew reports whether an event tells that another process leads the job, or that this life of it is over.
func ledAnew(e event) bool {
	return slices.Contains([]string{"taken-over", "rolled-back", "lost", "resumed"}, e.Kind)
}

// leads returns the process that leads the job: that of a cluster's job it has from the cluster, since another may have
// come in its place.
func (j *job) leads(l *life) (process, error) {
	if j.cluster == nil {
		return l.leads(), nil
	}
	s, err := j.cluster.status()
	for _, one := range s.Jobs {
		if one.State == "running" && one.PID > 0 {
			return process{leader, one.PID, startedAt(one.PID)}, err
		}
	}
	return process{}, err
}

// member is a node of the cluster.
type member struct {
	ID    string
	PID   int // of its process in the job
	Agent int
	State string
	Host  string
}

// status is what `status --json` tells of the cluster.
type status struct {
	Nodes []member
	Jobs  []struct {
		State string
		PID   int
	}
}

// status asks the cluster.
func (c *cluster) status() (s status, err error) {
	text, err := c.call(asideMost, "status", "--json")
	if err != nil {
		return s, fmt.Errorf("status: %w; %s", err, text)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		return s, json.Unmarshal([]byte(line), &s)
	}
	return s, fmt.Errorf("status: no line of JSON in %q", text)
}

// agent draws the agent of a node that takes part in the job, with the node's name there.
func (j *job) agent(l *life) (p process, node string, err error) {
	s, err := j.cluster.status()
	if err != nil {
		return p, "", err
	}
	of := map[int]int{}
	for _, m := range s.Nodes {
		of[m.PID] = m.Agent
	}
	at := j.among(slices.DeleteFunc(l.others(), func(p process) bool { return of[p.pid] == 0 }))
	if at.pid == 0 {
		return p, "", nil
	}
	return process{"agent", of[at.pid], startedAt(of[at.pid])}, at.node, nil
}

// killAgent kills an agent, and may have another one started in its place.
func (j *job) killAgent(l *life) (came, error) {
	p, node, err := j.agent(l)
	if err != nil {
		return late, err
	}
	l.hurt = true
	if p.pid == 0 || !p.signal(syscall.SIGKILL) {
		return nobody, nil
	}
	c, _, err := l.await(noticeMost, func(e event) bool { return parted(e, node) })
	if c == late && err == nil {
		err = fmt.Errorf("%w: the agent of %s (process %d) was killed, and after %v nothing tells of it", errHangs, node, p.pid, noticeMost)
	}
	if c != met || err != nil {
		return c, err
	}
	if j.cluster.network != nil {
		if err := j.cluster.join(); err != nil {
			return late, err
		}
	} else if j.rng.IntN(2) == 0 {
		if err := j.cluster.settle(); err != nil {
			return late, err
		}
		if j.cluster.aside, err = j.cluster.give("scale", "--workers", strconv.Itoa(j.cluster.workers)); err != nil {
			return late, err
		}
	}
	return j.goesOn(l)
}

// The times for which processes of a cluster are stopped: longer than it takes until others give them up.
const (
	leasePassed   = 11 * time.Second // of a process that leads, by the job's nodes
	managerPassed = 17 * time.Second // of a manager: its lease in the registry. Agents wait for longer
	silencePassed = 33 * time.Second // of an agent by its manager, and of the manager by its agents
)

// stopFor stops a process for a time, or until the command has ended.
func (j *job) stopFor(l *life, p process, within time.Duration) (came, error) {
	if p.pid == 0 || !p.signal(syscall.SIGSTOP) {
		return nobody, nil
	}
	l.hurt = true
	j.frozen = append(j.frozen, p)
	c, _, err := l.await(within+time.Duration(j.rng.IntN(2000))*time.Millisecond, nil)
	p.signal(syscall.SIGCONT)
	return c, err
}

// outliveLease stops the manager for longer than its lease, and for less than its agents and the job wait: it leads again.
func (j *job) outliveLease(l *life) (came, error) {
	if err := j.cluster.settle(); err != nil {
		return late, err
	}
	l.mine, l.mute = true, true
	return j.stopFor(l, j.cluster.manager, managerPassed)
}

// stopAgent stops an agent until the manager has given it up.
func (j *job) stopAgent(l *life) (came, error) {
	p, _, err := j.agent(l)
	if err != nil {
		return late, err
	}
	return j.stopFor(l, p, silencePassed)
}

// stopManager stops the manager for so long that agents and jobs give it up.
func (j *job) stopManager(l *life) (came, error) {
	l.mine, l.mute = true, true
	return j.stopFor(l, j.cluster.manager, silencePassed)
}
