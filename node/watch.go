package node

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/api"
	"bellows/core/tally"
	"bellows/link/wire"
	"bellows/node/measure"
)

// Watch shows a job that Train or Lead runs to other goroutines. The zero Watch is ready for one job.
//
// It has no state of the job: a look is a question in the controller's queue, answered between two of its steps. So it
// shows one moment, and training takes no lock for possible lookers. A controller that is stuck in its driver does not
// answer, and the caller's context ends the look (TestLookWhileItRuns, TestALookAtAFailedJob). Rejected: copies that
// the controller publishes after each step, because most are never looked at.
type Watch struct{ lead atomic.Pointer[lead] }

// Look returns the current state of the job, or its final state. Before the job's nodes have begun to join there is
// only its state.
func (w *Watch) Look(ctx context.Context) (api.Progress, error) {
	l := w.lead.Load()
	if l == nil {
		none := int(bellows.NoClock)
		return api.Progress{Clock: none, Furthest: none, Counters: api.Count(&tally.Tally{}), Nodes: []api.Node{}, Moves: []api.Move{}}, nil
	}
	answer := make(chan api.Progress, 1)
	l.enqueue(&look{answer: answer})
	select {
	case p := <-answer:
		return p, nil
	case <-ctx.Done():
		return api.Progress{}, bellows.Errorf(bellows.Unavailable, "look at the job", "", "its controller does not answer: %w", context.Cause(ctx))
	}
}

// look asks the controller's shell how far the job is.
type look struct {
	wire.Local
	answer chan<- api.Progress // has room
}

// ask runs a function in a step of the controller.
type ask struct {
	wire.Local
	do func()
}

// report returns what this process has counted so far. Counts only grow: each report supersedes all before it, so that
// none has to arrive, and none is added twice.
func (p *process) report() *wire.Report {
	m := &wire.Report{}
	if p.runner != nil {
		p.runner.Count(&m.Tally)
	}
	p.fill(m)
	return m
}

// fill adds to a report what the runner does not know: the process, its time and its memory, what its mesh has carried,
// and what its lanes have done.
func (p *process) fill(m *wire.Report) {
	m.Process, m.Millis = uint32(os.Getpid()), p.millis()
	if by := p.goneBy.Load(); by != 0 {
		m.Leaves = uint32(max(1, by-m.Millis))
	}
	w := &m.Tally.Work
	w.Serving, w.Rows = time.Duration(p.serving.Load()), p.rows.Load()
	w.Processor, w.Delayed = measure.ProcessorTime(), measure.Delayed()
	m.Spare = p.spare.Bytes()
	if p.mesh != nil {
		p.mesh.Traffic(&m.Tally.Sent, &m.Tally.Received)
		m.Links = p.mesh.Links(nil)
	}
}

// book is what node 0 knows of another node.
type book struct {
	report *wire.Report // nil: none has come
	heard  int64        // when it came
}

// enter takes a node's report, unless a later one was faster: a node's lanes, runner and clock make them on goroutines of
// their own, and may post them the other way round (TestALaterReportStands).
func (l *lead) enter(n bellows.NodeID, m *wire.Report) {
	if b := l.bookOf(n); b.report == nil || b.report.Millis <= m.Millis {
		if m.Leaves > 0 && (b.report == nil || b.report.Leaves == 0) {
			l.warned(n, time.Duration(m.Leaves)*time.Millisecond)
		}
		*b = book{m, l.millis()}
		l.feed.Enter(n, m)
	}
}

// warned reports that a node's process will end soon.
func (l *lead) warned(n bellows.NodeID, notice time.Duration) {
	if l.opt.OnWarning != nil {
		l.reporter.say(func() { l.opt.OnWarning(n, notice) })
	}
}

// bookOf returns what is known about a node, including one that is joining.
func (l *lead) bookOf(n bellows.NodeID) *book {
	for len(l.books) <= int(n) {
		l.books = append(l.books, book{})
	}
	return &l.books[n]
}

// spent returns how the slots of all nodes have spent their time, as far as they have reported. This node's own slots
// are read directly.
func (l *lead) spent() (all tally.Spent) {
	if l.runner != nil {
		all = l.runner.Spent()
	}
	for i := range l.books {
		if m := l.books[i].report; m != nil {
			for p, d := range m.Tally.Spent {
				all[p] += d
			}
		}
	}
	return all
}

// progress returns the answer to a look. It is made in the controller's step, so all of it is of one moment. A node
// that has not reported yet has zeros, and -1 for when it was last heard.
func (l *lead) progress() api.Progress {
	complete, furthest, commit := l.shell.Progress()
	p := api.Progress{Clock: int(complete), Furthest: int(furthest), Commit: uint64(commit), Era: uint32(l.opt.Era), Splits: l.job.Splits,
		Seconds: l.trainedFor().Seconds(), Nodes: make([]api.Node, len(l.members)), Moves: l.underWay(), Plan: l.planned(), Checkpoint: l.checkpoint()}
	splits, partitions := l.owned()
	now := l.millis()
	var all tally.Tally
	for i, m := range l.members {
		b := *l.bookOf(m.Node)
		if m.Node == l.cluster.Self {
			b = book{l.report(), now}
		}
		n := api.Node{ID: nodeName(m.Node), Roles: roles(m), Tier: api.Reliable, State: l.state(m.Node),
			Slots: m.Slots, Splits: splits[m.Node], Partitions: partitions[m.Node], Heard: -1}
		var own tally.Tally
		if b.report != nil {
			own = b.report.Tally
			n.PID, n.Heard = int(b.report.Process), float64(now-b.heard)/1000
		}
		n.Counters, n.Sent = api.Count(&own), api.Traffic(&own.Sent)
		p.Nodes[i] = n
		all.Add(&own)
	}
	p.Counters = api.Count(&all)
	return p
}

// owned returns the number of splits and partitions of each node. Until it has heard the lanes, a process that follows
// uses the route of the last cut. That route may name nodes that have left since, and about those nothing is kept here.
func (l *lead) owned() (splits, partitions map[bellows.NodeID]int) {
	splits, partitions = map[bellows.NodeID]int{}, map[bellows.NodeID]int{}
	for s := range bellows.SplitID(l.job.Splits) {
		splits[l.route.Node(s)]++
	}
	for ref := range l.route.Each() {
		partitions[l.route.Owner(ref).Lane.Node]++
	}
	return splits, partitions
}

// nodeName returns a node's name for people.
func nodeName(n bellows.NodeID) string { return fmt.Sprintf("node-%d", n) }

// roles returns the roles of a node by their names for people; none if it hosts nothing.
func roles(m Member) []string {
	list := []string{}
	for _, r := range []struct {
		name string
		has  bool
	}{{"controller", m.Node == 0}, {"worker", m.Slots > 0}, {"server", m.Lanes > 0}} {
		if r.has {
			list = append(list, r.name)
		}
	}
	return list
}

// state returns what a node is doing. A node that is gone stays gone when the job has ended.
func (l *lead) state(n bellows.NodeID) api.State {
	switch {
	case l.shell.Gone(n):
		return api.Gone
	case l.finished:
		return api.Ended
	case l.shell.Awaits(n):
		return api.Joining
	}
	return api.Running
}
