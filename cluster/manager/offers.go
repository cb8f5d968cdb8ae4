package manager

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bellows"
	"bellows/cluster"
)

// Times and bounds of offers. A node where a job has lost its process is offered to the job at once. If the node is lost again, or not taken, the next offer comes after offerWait, and each later
// one after twice as long, up to offerWaitMost.
const (
	changeWithin  = 10 * time.Minute // of a change for which no command waits
	offerWait     = time.Second
	offerWaitMost = time.Minute
	offersMost    = 12 // of one node to one job; later `scale` can offer the node
)

// hand offers nodes to a job that runs: new ones, and idle ones where the job may have lost its process. That the job cannot use idle nodes is a sentence and not an error.
func (m *manager) hand(ctx context.Context, j *job, come, idle []*member, done *cluster.Done) error {
	for _, n := range come {
		done.Sentences = append(done.Sentences, fmt.Sprintf("%s has joined the cluster", n.place.Node))
	}
	if j == nil || len(come)+len(idle) == 0 {
		return nil
	}
	grow := cluster.Grow{}
	for _, n := range slices.Concat(come, idle) {
		grow.Places = append(grow.Places, n.place)
	}
	reply, err := m.ask(ctx, j, cluster.Message{Scale: &grow})
	if err != nil && len(come) == 0 && bellows.KindOf(err) == bellows.Config {
		reply.Sentences, err = []string{err.Error()}, nil
	}
	done.Sentences = append(done.Sentences, reply.Sentences...)
	return err
}

// idle returns the nodes that a job could have and has no process at, but for those that have just come. A job that has no process yet begins with all nodes.
func (m *manager) idle(j *job, come []*member) (list []*member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j == nil || m.current != j || len(j.processes) == 0 {
		return nil
	}
	for _, n := range m.nodes {
		if n.state == cluster.Idle && !slices.Contains(come, n) {
			list = append(list, n)
		}
	}
	return list
}

// offer offers the job that runs a node that was not started by this manager.
func (m *manager) offer(n *member) {
	m.changes(n, nil, func(ctx context.Context) {
		m.mu.Lock()
		j := m.current
		m.mu.Unlock()
		var done cluster.Done
		m.logOffer(n, m.hand(ctx, j, []*member{n}, nil, &done), &done)
	})
}

// changes calls do as the only change of the cluster, unless the node or the job ends before that; j may be nil.
func (m *manager) changes(n *member, j *job, do func(context.Context)) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), changeWithin, fmt.Errorf("it did not complete within %v", changeWithin))
	defer cancel()
	var over chan struct{}
	if j != nil {
		over = j.over
	}
	select {
	case m.change <- struct{}{}:
		defer func() { <-m.change }()
	case <-ctx.Done():
		return
	case <-n.over:
		return
	case <-over:
		return
	}
	do(ctx)
}

func (m *manager) logOffer(n *member, err error, done *cluster.Done) {
	if err != nil {
		m.logf("%s: %v", n.place.Node, err)
	}
	for _, s := range done.Sentences {
		m.logf("%s", s)
	}
}

// misses begins to offer a node to a job that has lost its process there and continues without it. The manager's lock is held.
func (m *manager) misses(j *job, name string) {
	at := slices.IndexFunc(m.nodes, func(n *member) bool { return n.place.Node == name && n.state != cluster.Gone })
	if at < 0 || m.closing {
		return
	}
	n := m.nodes[at]
	if j.offers == nil {
		j.offers = map[*member]int{}
	}
	m.waits.Go(func() { m.offerAgain(j, n) })
}

// offerAgain offers a node to a job until it has taken it, the node is not to be had any more, or that was tried too often.
func (m *manager) offerAgain(j *job, n *member) {
	for {
		m.mu.Lock()
		tried := j.offers[n]
		j.offers[n]++
		m.mu.Unlock()
		if tried >= offersMost {
			m.logf("job %d has lost %s %d times, and is no longer offered it; `scale` offers it again", j.number, n.place.Node, tried)
			return
		}
		if !m.pause(j, n, tried) {
			return
		}
		again := false
		m.changes(n, j, func(ctx context.Context) {
			m.mu.Lock()
			free := m.current == j && n.state == cluster.Idle
			m.mu.Unlock()
			if !free {
				return
			}
			m.logf("%s is offered to job %d again, which has lost its process there", n.place.Node, j.number)
			var done cluster.Done
			err := m.hand(ctx, j, nil, []*member{n}, &done)
			m.logOffer(n, err, &done)
			again = err != nil
		})
		if !again {
			return
		}
	}
}

// pause waits before an offer, by how many there were before, and reports whether the offer is still of use.
func (m *manager) pause(j *job, n *member, tried int) bool {
	if tried == 0 {
		return true
	}
	wait := time.NewTimer(min(offerWaitMost, offerWait<<(tried-1)))
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-n.over:
	case <-j.over:
	}
	return false
}
