// Package nodenames maps the node numbers of a job to the names of nodes in its cluster.
//
// A job numbers its nodes by the order in which they join it, and gives no number twice; a cluster numbers the nodes that
// its agents bring. So node 6 of a job may be node-12 of the cluster, while the cluster has another node-6. A person knows
// the names of the cluster alone: they are what `status` lists and what `drain` takes. The process that leads a job
// therefore replaces the job's numbers in everything that leaves it, with a Map: in events, sentences, errors and status.
//
// The caller's duties: Set the name of each number before its process starts; pass texts of the job through Text and
// Error once, where they leave the job; and pass texts of the cluster through Job where they enter it, so that no text has
// both kinds of names.
//
// The package refuses to guess: a number without a name stays as it is.
package nodenames

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"bellows"
	"bellows/api"
)

// Map maps the numbers of a job's nodes to names of the cluster. The zero Map is empty; a nil Map changes nothing. Several goroutines may use it.
//
// Lock: mu, of both maps. Nothing is called while it is held.
type Map struct {
	mu      sync.Mutex
	names   map[bellows.NodeID]string // only of numbers with a name of their own
	numbers map[string]bellows.NodeID // of the same; the last number of a name
}

// defaultName returns the name that a node has in a job.
func defaultName(n bellows.NodeID) string { return fmt.Sprintf("node-%d", n) }

// Set names a node of the job.
func (t *Map) Set(n bellows.NodeID, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names, t.numbers = map[bellows.NodeID]string{}, map[string]bellows.NodeID{}
	}
	if t.numbers[name] = n; name != defaultName(n) {
		t.names[n] = name
	}
}

// mention is a node in a text of a job: "node 6" or "node-6".
var mention = regexp.MustCompile(`\bnode[- ][0-9]{1,5}\b`)

// Text replaces the nodes of the job in a text by their names in the cluster.
func (t *Map) Text(text string) string {
	if t == nil {
		return text
	}
	return mention.ReplaceAllStringFunc(text, func(m string) string {
		n, err := strconv.ParseUint(m[len("node-"):], 10, 16)
		t.mu.Lock()
		name, renamed := t.names[bellows.NodeID(n)]
		t.mu.Unlock()
		if err != nil || !renamed {
			return m
		}
		return name
	})
}

// clusterName is a node in a text of the cluster.
var clusterName = regexp.MustCompile(`\bnode-[0-9]{1,9}\b`)

// Job replaces names of the cluster in a text by the nodes of the job, so that Text restores them.
func (t *Map) Job(text string) string {
	if t == nil {
		return text
	}
	return clusterName.ReplaceAllStringFunc(text, func(m string) string {
		t.mu.Lock()
		n, known := t.numbers[m]
		t.mu.Unlock()
		if !known {
			return m
		}
		return defaultName(n)
	})
}

// named is an error with the names of the cluster in its text.
type named struct {
	text string
	err  error
}

func (e named) Error() string { return e.text }
func (e named) Unwrap() error { return e.err }

// Error replaces the nodes of the job in the text of an error, which keeps its kind. nil stays nil.
func (t *Map) Error(err error) error {
	if err == nil || t == nil {
		return err
	}
	if text := t.Text(err.Error()); text != err.Error() {
		return named{text, err}
	}
	return err
}

// Cause replaces the nodes of the job in the cause of an error, which it changes and returns.
func (t *Map) Cause(err error) error {
	if typed := (*bellows.Error)(nil); errors.As(err, &typed) && typed.Err != nil {
		typed.Err = t.Error(typed.Err)
	}
	return err
}

// Progress returns a copy of a job's status with the names of its nodes replaced.
func (t *Map) Progress(p api.Progress) api.Progress {
	if t == nil {
		return p
	}
	p.Nodes, p.Moves = slices.Clone(p.Nodes), slices.Clone(p.Moves)
	for i := range p.Nodes {
		p.Nodes[i].ID = t.Text(p.Nodes[i].ID)
	}
	for i := range p.Moves {
		p.Moves[i].From, p.Moves[i].To = t.Text(p.Moves[i].From), t.Text(p.Moves[i].To)
	}
	if p.Plan != nil {
		plan := *p.Plan
		plan.Reason = t.Text(plan.Reason)
		p.Plan = &plan
	}
	return p
}
