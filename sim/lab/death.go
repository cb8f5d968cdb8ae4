package lab

import (
	"fmt"
	"slices"
	"time"

	"bellows/core/heartbeat"
)

// Recovery is how long things take after a death that the protocol does not say.
type Recovery struct {
	// Detect is the time from a death until node 0 is sure of it, as when the launcher has seen the process end.
	Detect time.Duration
	// Restart is the time from the end of a job that lost tables until its processes are ready again, with the tables of the last cut.
	Restart time.Duration
}

// life is one life of the job: it ends with a node that holds tables, and the next begins with the last cut.
type life struct {
	number  int
	start   time.Duration // of this attempt
	trained time.Duration // in earlier attempts
	deaths  int
}

// dies ends the process of a node: nothing that it does from now on happens, and its connections end.
func (w *world) dies(n *node) {
	w.life.deaths++
	n.machine.Remove(w.agenda.Time(), func(o owner) bool { return o.node == n })
	w.links.Drop(n.id)
	n.inbox, n.outbox, n.taking, n.sending, n.turns = nil, nil, nil, nil, nil
	n.meter.Compute(w.elapsed(), -n.computing)
	w.agenda.After(int64(w.cfg.Recovery.Detect), event{what: nodeLost, node: n})
	n.departs()
}

// lost lets node 0, and all others, know of a death.
func (w *world) lost(n *node) {
	reason := fmt.Sprintf("node %d died", n.id)
	lead := w.nodes[0].lead
	lead.Lost(n.id, reason, &lead.fx)
	lead.obey()
	w.nodes[0].settle()
	for _, other := range w.nodes[1:] {
		if !other.gone && other.shell != nil {
			other.member(func(fx *heartbeat.Effects) {
				other.shell.Disconnected(n.id, reason, false, other.finished(), fx)
			})
			other.settle()
		}
	}
}

// continues notes that the job has continued without a node.
func (w *world) continues(n *node) {
	for _, i := range slices.Clone(w.happen.died) {
		if w.happen.list[i].Node == n.id {
			w.happened(i, "")
			w.happen.died = slices.DeleteFunc(w.happen.died, func(k int) bool { return k == i })
		}
	}
}

// next returns the next life of a job that has lost tables, or nil if it is over.
func (w *world) next() (*world, error) {
	o := w.nodes[0].lead.outcome
	if w.err != nil || o == nil || o.Failure("run experiment") == nil || w.life.deaths == 0 || w.cuts.last == nil {
		return nil, nil
	}
	at := w.elapsed() + w.cfg.Recovery.Restart
	n, err := newWorld(w.cfg, w, life{number: w.life.number + 1, start: at, trained: w.life.trained + w.nodes[0].lead.training.Total(w.elapsed())})
	if err != nil {
		return nil, err
	}
	for _, i := range w.happen.died {
		n.happened(i, "") // when the next life begins
	}
	n.happen.died = nil
	for _, i := range slices.Concat(n.happen.moving, n.cuts.script) {
		n.happen.list[i].Err = "the job was rolled back"
	}
	n.happen.moving = nil
	return n, nil
}
