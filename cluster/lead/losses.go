package lead

import (
	"slices"

	"bellows"
	"bellows/cluster"
)

// losses records the processes that a job has lost in this life, and their nodes. The zero value is empty. The lock of the Lead guards it.
type losses struct {
	failed  map[string]int            // number of processes that have died at a node of the cluster
	held    map[bellows.NodeID]string // the node of the cluster at which a node of the job is, or was
	missing map[string]bool           // nodes that the job has lost, where the process still runs
}

// started records that a node of the job runs at a node of the cluster.
func (o *losses) started(member bellows.NodeID, name string) {
	if o.held == nil {
		o.failed, o.held, o.missing = map[string]int{}, map[bellows.NodeID]string{}, map[string]bool{}
	}
	o.held[member] = name
	delete(o.missing, name)
}

// ended records the end of the process at a node, and reports whether the job misses the node. died is false if the process was asked to end.
func (o *losses) ended(name string, died bool) (missing bool) {
	if died && o.failed != nil {
		o.failed[name]++
	}
	missing = o.missing[name]
	delete(o.missing, name)
	return missing
}

// Missing records that the job has lost a node and continues without it. As soon as the process of the node has ended, the manager offers the node to the job again.
func (l *Lead) Missing(n bellows.NodeID) {
	l.mu.Lock()
	name := l.held[n]
	p := l.at[name]
	if p != nil && p.member == n {
		l.missing[name] = true
	}
	l.mu.Unlock()
	if name != "" && p == nil {
		l.announce(name)
	}
}

// announce notifies the manager that the job misses a node, unless the cluster has lost the node.
func (l *Lead) announce(name string) {
	l.mu.Lock()
	there := slices.ContainsFunc(l.Places, func(p cluster.Place) bool { return p.Node == name })
	l.mu.Unlock()
	if there {
		_ = l.session.Send(cluster.Message{Missing: name}) // a manager that has gone is noticed otherwise
	}
}
