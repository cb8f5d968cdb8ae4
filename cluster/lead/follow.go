package lead

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/node/launch"
)

// Following is what a process needs to lead a job in place of a killed one, while its nodes continue.
type Following struct {
	Succession json.RawMessage   // as that one has told it (Succeed)
	Processes  []cluster.Process // of the nodes
	Units      int64             // that count since the last checkpoint, as far as the manager knows
	Seconds    float64           // of training since then, or Unknown
}

// Follows returns what the previous leader left, whose nodes continue; nil: this process begins another attempt of the
// job.
func (l *Lead) Follows() *launch.Succession { return l.succession }

// Succeed tells the manager what another process needs that is to lead the job in the place of this one.
func (l *Lead) Succeed(s launch.Succession) {
	if text, err := json.Marshal(s); err == nil { // otherwise no process can follow
		_ = l.session.Send(cluster.Message{Succession: text}) // a manager that has gone is noticed otherwise
	}
}

// inherit takes what the process before has left.
func (l *Lead) inherit() error {
	f := l.Following
	if f == nil {
		return nil
	}
	l.succession = &launch.Succession{}
	if err := json.Unmarshal(f.Succession, l.succession); err != nil {
		return err
	}
	for _, o := range f.Processes {
		if o.Member < 1 {
			return errors.New("a process belongs to no node")
		}
		p := &remote{lead: l, number: o.Number, node: o.Node, member: bellows.NodeID(o.Member), pid: o.PID, answer: make(chan []byte, 1), over: make(chan struct{})}
		l.processes[p.number], l.at[p.node] = p, p
		l.Names.Set(p.member, p.node)
		l.started(p.member, p.node)
		l.drawn = max(l.drawn, p.number)
	}
	return nil
}

// Adopt returns the processes of nodes that have continued, by node. Their standard error goes to output from now on.
func (l *Lead) Adopt(output func(bellows.NodeID) io.Writer) map[bellows.NodeID]launch.Process {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := map[bellows.NodeID]launch.Process{}
	for _, p := range l.processes {
		list[p.member] = p
		p.keep(output(p.member))
	}
	return list
}

// keep says where it goes what the process writes.
func (p *remote) keep(to io.Writer) {
	p.mu.Lock()
	p.output = to
	early := p.early
	p.early = nil
	p.mu.Unlock()
	_, _ = to.Write(early) // what cannot be kept is no reason to end a job
}

// earlyMost bounds the output of a process that is kept before its destination is set.
const earlyMost = 64 << 10

// wrote passes on what the process has written.
func (p *remote) wrote(b []byte) {
	p.mu.Lock()
	to := p.output
	if to == nil && len(p.early) < earlyMost {
		p.early = append(p.early, b...)
	}
	p.mu.Unlock()
	if to != nil {
		_, _ = to.Write(b) // what cannot be kept is no reason to end a job
	}
}

// dismissWithin is how long a process may take to end after the request.
const dismissWithin = 3 * time.Second

// Dismiss ends the processes of nodes that continue, if the job cannot continue with them.
func (l *Lead) Dismiss() {
	l.mu.Lock()
	list := slices.Collect(maps.Values(l.processes))
	l.mu.Unlock()
	for _, p := range list {
		p.End()
	}
	for _, p := range list {
		late := time.AfterFunc(dismissWithin, p.Kill)
		<-p.over
		late.Stop()
	}
}
