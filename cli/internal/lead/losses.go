package lead

import (
	"slices"

	"bellows"
	"bellows/cli/internal/cluster"
)

// losses are the processes that a job has lost in this life, and where they were. The zero value: none. It is behind the lock of the Lead.
type losses struct {
	failed  map[string]int            // how many processes have ended at a node of the cluster that were not to
	held    map[bellows.NodeID]string // the node of the cluster at which a node of the job is, or was
	missing map[string]bool           // nodes whose process the job has lost, and which has not ended yet
}

// started takes note that a node of the job is at a node of the cluster.
func (o *losses) started(member bellows.NodeID, name string) {
	if o.held == nil {
		o.failed, o.held, o.missing = map[string]int{}, map[bellows.NodeID]string{}, map[string]bool{}
	}
	o.held[member] = name
	delete(o.missing, name)
}

// ended takes note of the end of the process at a node, and reports whether the job misses the node. died: nobody has asked for that end.
func (o *losses) ended(name string, died bool) (missing bool) {
	if died && o.failed != nil {
		o.failed[name]++
	}
	missing = o.missing[name]
	delete(o.missing, name)
	return missing
}

// Missing takes note that the job has lost a node, and goes on without it. As soon as the node's process has ended, the manager offers the job the node again.
func (l *Lead) Missing(n bellows.NodeID) {
	l.mu.Lock()
	name := l.held[n]
	p := l.at[name]
	if p != nil && p.member == n {
		l.missing[name] = true
	}
	l.mu.Unlock()
	if name != "" && p == nil {
		l.report(name)
	}
}

// report tells the manager that the job misses a node, unless the cluster has lost that as well.
func (l *Lead) report(name string) {
	l.mu.Lock()
	there := slices.ContainsFunc(l.Places, func(p cluster.Place) bool { return p.Node == name })
	l.mu.Unlock()
	if there {
		_ = l.session.Send(cluster.Message{Missing: name}) // a manager that has gone is noticed otherwise
	}
}
