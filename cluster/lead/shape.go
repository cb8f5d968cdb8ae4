package lead

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/figures"
	"bellows/node"
	"bellows/node/elastic"
	"bellows/node/launch"
)

// changeWithin is how long a change that has no notice may take.
const changeWithin = 10 * time.Minute

// Serve lets the manager change the job's nodes, by the job's control.
func (l *Lead) Serve(c *launch.Control) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.control = c
}

// answer carries out a request of the manager and reports the result.
func (l *Lead) answer(m cluster.Message) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), changeWithin, fmt.Errorf("it did not complete within %v", changeWithin))
	defer cancel()
	var said []string
	began, err := time.Now(), l.await(ctx)
	l.mu.Lock()
	control := l.control
	l.mu.Unlock()
	switch {
	case err != nil:
	case m.Scale != nil:
		said, err = l.grow(ctx, control, m.Scale.Places)
	case m.Drain != nil:
		notice := time.Duration(m.Drain.NoticeMillis) * time.Millisecond
		if notice > 0 {
			notice = max(time.Millisecond, notice-time.Since(began))
		}
		said, err = l.drop(ctx, control, m.Drain.Nodes, notice)
	}
	reply := &cluster.Reply{Sentences: said}
	if err != nil && (control == nil || !control.Ended()) { // else nothing of the job is left at its nodes, or is about to be
		reply = cluster.Failure(err)
	}
	_ = l.session.Send(cluster.Message{Question: m.Question, Answer: reply}) // the receiver handles a failure
}

// awaitEvery is how often await looks.
const awaitEvery = 20 * time.Millisecond

// await waits until the job's nodes have begun to join, and can change.
func (l *Lead) await(ctx context.Context) error {
	ticker := time.NewTicker(awaitEvery)
	defer ticker.Stop()
	for {
		l.mu.Lock()
		control := l.control
		l.mu.Unlock()
		if control != nil {
			if _, err := control.Layout(ctx); err == nil || bellows.KindOf(err) != bellows.Unavailable {
				return nil
			}
		}
		select {
		case <-ticker.C:
		case <-l.gone:
			return bellows.Errorf(bellows.Unavailable, "change", fmt.Sprintf("job %d", l.Job), "it has ended")
		case <-ctx.Done():
			return bellows.Errorf(bellows.Unavailable, "change", fmt.Sprintf("job %d", l.Job), "its nodes have not begun to join: %w", context.Cause(ctx)).Hinted("ask again")
		}
	}
}

// grow makes the job take nodes that have come to the cluster.
func (l *Lead) grow(ctx context.Context, c changer, places []cluster.Place) (said []string, err error) {
	use, said := able(places)
	if len(use) == 0 {
		return said, nil
	}
	workers, servers, err := l.extend(ctx, c, use)
	if err != nil {
		return nil, err
	}
	before := l.taken()
	r, err := c.Scale(ctx, workers, servers)
	l.prune(use)
	took := strings.Join(slices.DeleteFunc(l.taken(), func(n string) bool {
		// perhaps taken by the previous leader
		wanted := slices.ContainsFunc(use, func(p cluster.Place) bool { return p.Node == n })
		return slices.Contains(before, n) && !wanted
	}), ", ")
	if err != nil {
		return nil, l.refused(err, "the nodes are ready for the next job")
	}
	if took == "" {
		return append(said, fmt.Sprintf("job %d has as many nodes as it wants: the new ones are for the next", l.Job)), nil
	}
	said = append(said, fmt.Sprintf("job %d has taken %s: %d of its splits and partitions went there, %.1f s after it was asked", l.Job, took, r.Moved, r.Seconds))
	if layout, err := c.Layout(ctx); err == nil {
		if idle := figures.Surplus(workers, len(layout.Splits)); idle != "" {
			said = append(said, fmt.Sprintf("job %d: %s", l.Job, idle))
		}
	}
	return said, nil
}

// extend adds places, and says how many nodes of each role the job has then. 0: as many as it has.
func (l *Lead) extend(ctx context.Context, c changer, places []cluster.Place) (workers, servers int, err error) {
	holders := map[bellows.NodeID]bool{}
	// the previous leader may have accepted some that have nothing yet, and are no servers
	if slices.ContainsFunc(places, func(p cluster.Place) bool { return p.Slots == 0 }) || l.Follows() != nil && l.HasServersOnly() {
		layout, err := c.Layout(ctx)
		if err != nil {
			return 0, 0, l.refused(err, "the nodes are ready for the next job")
		}
		for _, h := range layout.Partitions {
			holders[h.Node] = true
		}
		servers = len(holders)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range places {
		// otherwise it was requested before, and the leader of that time has taken it
		if !slices.ContainsFunc(l.Places, func(o cluster.Place) bool { return o.Node == p.Node }) {
			l.Places = append(l.Places, p)
		}
	}
	for _, p := range l.Places {
		offered := slices.ContainsFunc(places, func(o cluster.Place) bool { return o.Node == p.Node })
		if p.Slots > 0 && !l.late[p.Node] && (offered || l.at[p.Node] != nil) { // the job gives those that are late nothing any more, and has lost those without a process
			workers++
		}
	}
	for _, p := range places {
		if at := l.at[p.Node]; p.Slots == 0 && (at == nil || !holders[at.member]) {
			servers++
		}
	}
	return workers, servers, nil
}

// taken returns the nodes at which the job has processes, in the order of the places.
func (l *Lead) taken() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.Places {
		if l.at[p.Node] != nil {
			names = append(names, p.Node)
		}
	}
	return names
}

// prune forgets those of some places where no process of the job runs.
func (l *Lead) prune(places []cluster.Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Places = slices.DeleteFunc(l.Places, func(o cluster.Place) bool {
		return l.at[o.Node] == nil && slices.ContainsFunc(places, func(p cluster.Place) bool { return p.Node == o.Node })
	})
}

// changer is what of a launch.Control changes a job's nodes.
type changer interface {
	Layout(ctx context.Context) (node.Layout, error)
	Scale(ctx context.Context, workers, servers int) (elastic.Result, error)
	DrainAll(ctx context.Context, nodes []bellows.NodeID, notice time.Duration) ([]elastic.Result, []error)
}

// refused returns an error of the job's, with its number and what is so all the same.
func (l *Lead) refused(err error, hint string) error {
	var e *bellows.Error
	if !errors.As(err, &e) {
		return err
	}
	return bellows.Errorf(e.Kind, "change", fmt.Sprintf("job %d", l.Job), "%w", l.Names.Error(err)).Hinted(hint)
}

// drop makes the job give up nodes, by one plan for all of them.
func (l *Lead) drop(ctx context.Context, c changer, nodes []string, notice time.Duration) (said []string, err error) {
	var names []string
	var members []bellows.NodeID
	l.mu.Lock()
	for _, name := range nodes {
		if p := l.at[name]; p != nil {
			names, members = append(names, name), append(members, p.member)
			continue
		}
		l.leave(name)
	}
	l.mu.Unlock()
	if len(members) == 0 {
		return nil, nil
	}
	if err := l.keeps(ctx, c, members); err != nil {
		return nil, err
	}
	results, errs := c.DrainAll(ctx, members, notice)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, name := range names {
		l.late[name] = errs[i] != nil && notice > 0
		if errs[i] != nil {
			errs[i] = l.refused(errs[i], "the rest of its work and the node stay")
			continue
		}
		said = append(said, fmt.Sprintf("job %d has given up %s: %d of its splits and partitions went to others, %.1f s after it was asked", l.Job, name, results[i].Moved, results[i].Seconds))
		l.leave(name)
	}
	return said, errors.Join(errs...)
}

// keeps returns an error if no node would be left to hold the job's tables, or to run its tasks: a node that is drained is not replaced. If the job began with workers that hold tables,
// every worker may hold them, later ones included; otherwise only servers do.
func (l *Lead) keeps(ctx context.Context, c changer, leave []bellows.NodeID) error {
	layout, err := c.Layout(ctx)
	if err != nil {
		return nil // DrainAll returns that error for each node
	}
	apart := l.HasServersOnly()
	l.mu.Lock()
	defer l.mu.Unlock()
	both := !apart || slices.ContainsFunc(l.begins, func(o node.Member) bool { return o.Slots > 0 && o.Lanes > 0 })
	places := map[bellows.NodeID]string{}
	for name, p := range l.at {
		places[p.member] = name
	}
	workers, servers := 0, 0
	for _, m := range layout.Members {
		at := slices.IndexFunc(l.Places, func(p cluster.Place) bool { return p.Node == places[m.Node] })
		if at < 0 || slices.Contains(leave, m.Node) {
			continue
		}
		if l.Places[at].Slots > 0 {
			workers++
		}
		if l.Places[at].Slots == 0 || both {
			servers++
		}
	}
	what, flag := "holds its tables", "--servers 1"
	switch {
	case workers == 0:
		what, flag = "runs its tasks", "--workers 1"
	case servers > 0:
		return nil
	}
	return bellows.Errorf(bellows.Refused, "change", fmt.Sprintf("job %d", l.Job), "no other of its nodes %s", what).
		Hinted(fmt.Sprintf("keep one with `scale %s`, or wait for the end of job %d", flag, l.Job))
}

// leave stops starting processes at a node. Its caller holds the lock.
func (l *Lead) leave(name string) {
	l.Places = slices.DeleteFunc(l.Places, func(p cluster.Place) bool { return p.Node == name })
}
