package main

import (
	"fmt"
	"slices"
	"syscall"
	"time"
)

// act is something that is done to a job.
type act struct {
	name   string
	weight int // of those that are drawn; 0: it comes in turn only, since it takes long
	do     func(j *job, l *life) (came, error)
	long   int // how many times the epochs a job has to which it is done; 0: one
}

// world is where jobs run, with the acts possible there. The acts take turns in the order of the list: a job's first
// acts follow those of the previous job in the same world. Later acts are drawn by weight.
type world struct {
	acts  []act
	turns int // acts of a job that come in turn, in the long form; in the others all do
	last  int // the act that is always possible, and brings other processes: for when several were impossible
}

// The worlds. Weights of acts reflect their cost: losing servers and leaders costs a new start.
var (
	ofCommand = &world{[]act{
		{"kill a worker", 6, func(j *job, l *life) (came, error) { return j.kill(l, j.worker(l)) }, 0},
		{"kill a node that holds tables", 5, func(j *job, l *life) (came, error) { return j.kill(l, j.server(l)) }, 0},
		{"kill while a node leaves", 8, (*job).killMoving, 0},
		{"kill the command", 3, func(j *job, l *life) (came, error) { return j.kill(l, l.leads()) }, 0},
		{"stop a process for a moment", 2, (*job).pause, 0},
		{"have a node leave", 2, func(j *job, l *life) (came, error) { return j.drain(l, j.anyOther(l), false) }, 0},
		{"stop a node until it is given up", 1, (*job).freeze, 0},
		{"stop the command until it is given up", 0, (*job).sleep, 0},
	}, 1, 3}
	ofCluster = &world{[]act{
		{"kill an agent", 4, (*job).killAgent, 0},
		{"kill who leads a cluster's job", 5, (*job).killLeader, 0},
		{"kill while it scales", 7, (*job).killScaling, 0},
		{"kill all at once", 1, (*job).killAll, 0},
		{"kill the manager", 1, (*job).killManager, 0},
		{"drain", 3, (*job).drainNode, 0},
		{"scale", 4, func(j *job, l *life) (came, error) { return j.scale(l, false) }, 0},
		{"stop who leads a cluster's job until it is given up", 0, (*job).sleep, 0},
		{"kill a worker", 3, func(j *job, l *life) (came, error) { return j.kill(l, j.anyOther(l)) }, 0},
		{"stop the manager beyond its lease", 0, (*job).outliveLease, 2},
		{"stop a process for a moment", 2, (*job).pause, 0},
		{"stop an agent until it is given up", 0, (*job).stopAgent, 3},
		{"stop a node until it is given up", 1, (*job).freeze, 0},
		{"stop the manager until it is given up", 0, (*job).stopManager, 3},
	}, 2, 6}
	ofLinks = &world{[]act{
		{"cut a link for a moment", 3, func(j *job, l *life) (came, error) { return j.cutLink(l, bothWays, false) }, 0},
		{"cut one way of a link for a moment", 3, func(j *job, l *life) (came, error) { return j.cutLink(l, oneWay, false) }, 0},
		{"reset connections", 4, (*job).resetConnections, 0},
		{"narrow a link while something moves", 3, (*job).narrowMoving, 0},
		{"cut a link until its node is given up", 1, func(j *job, l *life) (came, error) { return j.cutLink(l, bothWays, true) }, 0},
		{"narrow a link while checkpoints are written", 3, (*job).narrowCheckpoints, 0},
		{"cut one way of a link until its node is given up", 1, func(j *job, l *life) (came, error) { return j.cutLink(l, oneWay, true) }, 0},
		{"cut two machines from each other", 2, func(j *job, l *life) (came, error) { return j.cutLink(l, apartOnly, true) }, 0},
		{"kill an agent", 2, (*job).killAgent, 0},
		{"kill who leads a cluster's job", 2, (*job).killLeader, 0},
		{"kill a worker", 3, func(j *job, l *life) (came, error) { return j.kill(l, j.anyOther(l)) }, 0},
		{"kill all at once", 0, (*job).killAll, 0},
		{"drain", 1, (*job).drainNode, 0},
	}, 2, 9}
	ofDisk = &world{[]act{
		{"fill the disk", 2, func(j *job, l *life) (came, error) { return j.fill(l, nil) }, 0},
		{"fill the disk, and kill a node that holds tables", 3, func(j *job, l *life) (came, error) {
			return j.fill(l, func() (came, error) { return j.kill(l, j.server(l)) })
		}, 0},
		{"fill the disk, and kill the command", 2, func(j *job, l *life) (came, error) {
			return j.fill(l, func() (came, error) { return j.kill(l, l.leads()) })
		}, 0},
		{"kill while a node leaves", 4, (*job).killMoving, 0},
		{"kill a worker", 3, func(j *job, l *life) (came, error) { return j.kill(l, j.worker(l)) }, 0},
		{"kill a node that holds tables", 3, func(j *job, l *life) (came, error) { return j.kill(l, j.server(l)) }, 0},
	}, 1, 2}
)

// Jobs go through the worlds in a row. That of the shorter forms has all of them at its beginning.
var (
	rowOfFull  = []*world{ofCommand, ofCluster, ofCommand, ofLinks, ofDisk, ofCommand, ofCluster, ofCommand, ofLinks, ofCluster}
	rowOfShort = []*world{ofCommand, ofCluster, ofLinks, ofDisk, ofCluster}
)

// disturb performs drawn acts on an attempt of the job, until the job has had enough. An impossible act is not counted,
// and another is drawn.
func (j *job) disturb(l *life) (came, error) {
	c, _, err := l.await(noticeMost, func(e event) bool { return e.Kind == "joined" })
	if c == late && err == nil {
		err = fmt.Errorf("%w: its processes have not joined after %v", errHangs, noticeMost)
	}
	for idle := 0; c != over && err == nil && j.acts < j.most; {
		if c, err = j.moment(l); c == over || err != nil {
			break
		}
		a := j.draw()
		j.acts++
		c, err = a.do(j, l)
		if c == nobody && err == nil {
			if idle++; idle < anewMost {
				j.acts--
				continue
			}
			a = j.world.acts[j.world.last]
			c, err = a.do(j, l)
		}
		idle = 0
		j.done = append(j.done, a.name)
	}
	return c, err
}

// draw returns the next act in turn, and after the last turn a random one.
func (j *job) draw() act {
	if j.turns > 0 {
		j.turns--
		j.turn++
		return j.world.acts[(j.turn-1)%len(j.world.acts)]
	}
	sum := 0
	for _, a := range j.world.acts {
		sum += a.weight
	}
	n := j.rng.IntN(sum)
	for _, a := range j.world.acts {
		if n -= a.weight; n < 0 {
			return a
		}
	}
	panic("the weights are not what they were")
}

// moment waits for the time of an act: after some time, right after a checkpoint or an epoch, or when nodes have just
// joined.
func (j *job) moment(l *life) (came, error) {
	within := time.Duration(j.rng.IntN(400)) * time.Millisecond
	var wanted func(event) bool
	switch j.rng.IntN(4) {
	case 0:
		wanted = func(e event) bool { return e.Kind == "checkpoint" }
	case 1:
		wanted = func(e event) bool { return e.Kind == "epoch" }
	}
	c, _, err := l.await(within, wanted)
	return c, err
}

// serves reports whether a node is one of those that hold tables and run no tasks: they have the last numbers.
func (j *job) serves(p process) bool {
	var n int
	_, err := fmt.Sscanf(p.node, "node-%d", &n)
	return err == nil && n > j.processes-j.servers
}

// worker draws a node that runs tasks, server one that holds tables, any one of both.
func (j *job) worker(l *life) process {
	return j.among(slices.DeleteFunc(l.others(), func(p process) bool { return j.serves(p) }))
}

func (j *job) server(l *life) process {
	return j.among(slices.DeleteFunc(l.others(), func(p process) bool { return !j.serves(p) }))
}

func (j *job) anyOther(l *life) process { return j.among(l.others()) }

// among draws a process; of none it is none.
func (j *job) among(list []process) process {
	if len(list) == 0 {
		return process{}
	}
	return list[j.rng.IntN(len(list))]
}

// kill kills a process with signal 9, and waits until the log says what became of that. Of no process it does nothing.
func (j *job) kill(l *life, p process) (came, error) {
	if p.pid == 0 {
		return nobody, nil
	}
	leads := p.node == leader
	if leads {
		l.mine = true
	} else {
		l.hurt = true
	}
	if !p.signal(syscall.SIGKILL) {
		return nobody, nil
	}
	c, _, err := l.await(noticeMost, func(e event) bool { return !leads && parted(e, p.node) })
	if c == late && err == nil {
		err = fmt.Errorf("%w: %s (process %d) was killed, and after %v nothing tells of it", errHangs, p.node, p.pid, noticeMost)
	}
	if c == met {
		return j.goesOn(l)
	}
	return c, err
}

// parted reports whether an event tells that a node takes part no more, or that a life of the job is over.
func parted(e event, node string) bool {
	return (e.Kind == "gone" || e.Kind == "left") && e.Node == node || e.Kind == "rolled-back" || e.Kind == "lost"
}

// goesOn waits until processes that were started anew have joined, if they were.
func (j *job) goesOn(l *life) (came, error) {
	if len(l.nodes) > 0 {
		return met, nil
	}
	c, _, err := l.await(noticeMost, func(e event) bool { return e.Kind == "joined" })
	if c == late && err == nil {
		err = fmt.Errorf("%w: it was rolled back, and its processes have not joined after %v", errHangs, noticeMost)
	}
	return c, err
}

// drain makes a node leave, as after a request to end; moving: it returns as soon as that has been decided.
func (j *job) drain(l *life, p process, moving bool) (came, error) {
	if p.pid == 0 {
		return nobody, nil
	}
	l.hurt = true // one that has not left in time takes what it has with it
	if !p.signal(syscall.SIGTERM) {
		return nobody, nil
	}
	if !moving && j.rng.IntN(2) == 0 { // something else is done meanwhile
		return late, nil
	}
	c, _, err := l.await(5*time.Second, func(e event) bool { return e.Kind == "plan" || parted(e, p.node) })
	return c, err
}

// killMoving kills a process while a node leaves: that node, another one, or the command.
func (j *job) killMoving(l *life) (came, error) {
	leaver := j.anyOther(l)
	if j.servers > 1 && j.rng.IntN(2) == 0 {
		leaver = j.server(l)
	}
	c, err := j.drain(l, leaver, true)
	if c == over || c == nobody || err != nil {
		return c, err
	}
	if c, _, err = l.await(time.Duration(j.rng.IntN(4))*time.Millisecond, nil); c == over || err != nil {
		return c, err
	}
	switch j.rng.IntN(4) {
	case 0:
		return j.kill(l, l.leads())
	case 1:
		return j.kill(l, leaver)
	}
	return j.kill(l, j.among(slices.DeleteFunc(l.others(), func(p process) bool { return p == leaver })))
}

// pause stops a process for less than a lease.
func (j *job) pause(l *life) (came, error) {
	p := j.anyOther(l)
	if j.rng.IntN(3) == 0 {
		var err error
		if p, err = j.leads(l); err != nil {
			return late, err
		}
	}
	if !p.signal(syscall.SIGSTOP) {
		return nobody, nil
	}
	l.hurt = true // a busy machine may make it longer
	c, _, err := l.await(time.Duration(20+j.rng.IntN(1500))*time.Millisecond, nil)
	p.signal(syscall.SIGCONT)
	return c, err
}

// freeze stops a node until it is given up, and lets it wake then.
func (j *job) freeze(l *life) (came, error) {
	p := j.anyOther(l)
	if p.pid == 0 || !p.signal(syscall.SIGSTOP) {
		return nobody, nil
	}
	l.hurt = true
	j.frozen = append(j.frozen, p)
	c, _, err := l.await(noticeMost, func(e event) bool { return parted(e, p.node) })
	p.signal(syscall.SIGCONT)
	if c == late && err == nil {
		err = fmt.Errorf("%w: %s (process %d) was stopped, and after %v nothing tells of it", errHangs, p.node, p.pid, noticeMost)
	}
	if c == met {
		return j.goesOn(l)
	}
	return c, err
}

// sleep stops the process that leads for so long that the others give it up.
func (j *job) sleep(l *life) (came, error) {
	p, err := j.leads(l)
	if err != nil {
		return late, err
	}
	return j.stopFor(l, p, leasePassed)
}
