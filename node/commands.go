package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/api"
	"bellows/core/join"
	"bellows/policy/advise"
)

// Commands change the nodes of a job that Lead runs, and their work, while it continues. The zero Commands is ready for
// one job. They are safe for concurrent use. Before the job's nodes have begun to join, and after the job has ended,
// all are refused.
type Commands struct{ lead atomic.Pointer[lead] }

// Change is something that was changed while the job ran.
type Change struct {
	Kind    ChangeKind
	Node    bellows.NodeID    // that came, or to which something went
	Process int               // of Joined: the system's number of the node's process
	From    bellows.NodeID    // of Moved: where it was
	Splits  []bellows.SplitID // of Moved, ascending, and of Gone, those that others run; or
	Units   int               // of Gone: tasks that were out at the node and are run again
	// Partitions are what went.
	Partitions []bellows.PartitionRef
	Seconds    float64       // from the command, of several the first
	Steps      []string      // of Planned: what is to be done
	Bytes      int64         // of Planned: how much is to move, or has; of Moved, how much partitions took
	Advice     *advise.State // of Planned: what is remembered about shapes from now on; nil: nothing new
	Sentence   string
}

// ChangeKind is a kind of change.
type ChangeKind uint8

// The kinds of changes.
const (
	Joined  ChangeKind = iota // a node takes part
	Moved                     // some splits, or a partition, are another node's
	Planned                   // it was decided how the job's shape is to change, or what has become of it
	Left                      // a node takes part no more, and its process ends
	Gone                      // a node is lost, and the job continues
)

// Add makes a node join the job, with a number of compute slots and lanes, and returns its number when it takes part.
// come starts it: it gets the invitation to pass on, and may return before the node has joined. It is not called if no
// node can join, and its context ends when the node is given up. Several nodes may join at a time, at most
// join.GuestsMost: they start and read their data in parallel, and connect to the others one after another
// (Invitation.Await). If Add returns an error, no node has joined and nothing has changed.
func (c *Commands) Add(ctx context.Context, slots, lanes int, come func(context.Context, Invitation) error) (bellows.NodeID, error) {
	coming, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var i Invitation
	outcome := make(chan error, 1)
	err := c.ask(ctx, "add a node", func(l *lead) error {
		if l.mesh == nil || l.opt.Links == nil {
			return bellows.Errorf(bellows.Config, "add a node", "", "the job runs in one process, which no node can join")
		}
		if l.finished {
			return errOver("add a node")
		}
		who, err := l.shell.Invite(slots, lanes)
		if err != nil {
			return err
		}
		turn := make(chan []bellows.NodeID, 1)
		i = Invitation{Newcomer: who, Job: l.fingerprint, turn: turn}
		l.guests = append(l.guests, invited{who.Node, time.Now(), turn, func() error { return abandoned(coming) }, func(err error) {
			outcome <- err
			giveUp(err)
		}})
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := come(coming, i); err != nil {
		giveUp(err)
		c.lead.Load().enqueue(&ask{do: func() {}}) // at once
	}
	return i.Node, <-outcome // also if the node is not awaited any more: then it is given up
}

// MoveSplit moves a split to another node, and returns when the controller has accepted that. The split moves between
// two of its clocks. When it has moved, or never will, moved receives the outcome; it need not be read.
func (c *Commands) MoveSplit(ctx context.Context, s bellows.SplitID, to bellows.NodeID) (moved <-chan error, err error) {
	told := make(chan error, 1)
	return told, c.ask(ctx, "move a split", func(l *lead) error {
		if l.finished {
			return errOver("move a split")
		}
		if why := l.job.Stays; why != "" && int(s) < l.job.Splits && to != l.route.Node(s) {
			return bellows.Errorf(bellows.Config, "move a split", fmt.Sprint(s), "it stays at node %d: %s, and cannot be saved", l.route.Node(s), why)
		}
		if err := l.shell.MoveSplit(s, to, &l.fx); err != nil {
			return bellows.Errorf(bellows.Config, "move a split", "", "%w", err)
		}
		l.supersede(s)
		l.moves = append(l.moves, moving{s, l.route.Node(s), to, time.Now(), told})
		return nil
	})
}

// Splits returns the nodes that run the splits, by split.
func (c *Commands) Splits(ctx context.Context) ([]bellows.NodeID, error) {
	var list []bellows.NodeID
	err := c.ask(ctx, "look at the splits", func(l *lead) error {
		for s := range bellows.SplitID(l.job.Splits) {
			list = append(list, l.route.Node(s))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// ask makes a step of the controller do something. A caller that stops waiting does not undo it.
func (c *Commands) ask(ctx context.Context, what string, do func(*lead) error) error {
	l := c.lead.Load()
	if l == nil {
		return bellows.Errorf(bellows.Unavailable, what, "", "the job's nodes have not begun to join")
	}
	done := make(chan error, 1)
	l.enqueue(&ask{do: func() { done <- do(l) }})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return bellows.Errorf(bellows.Unavailable, what, "", "the job's controller does not answer: %w", context.Cause(ctx))
	}
}

// abandoned returns why the caller has stopped waiting; nil if it waits.
func abandoned(ctx context.Context) error {
	why := context.Cause(ctx)
	if errors.Is(why, context.Canceled) || errors.Is(why, context.DeadlineExceeded) {
		return bellows.Errorf(bellows.Interrupted, "wait", "", "%w", why)
	}
	return why
}

func errOver(what string) error {
	return bellows.Errorf(bellows.Interrupted, what, "", "the job is over")
}

// commands are what was asked of a lead and has not come about. All of it is of the controller's steps.
type commands struct {
	guests []invited
	moves  []moving
	shifts []shifting
	plan   *api.Plan // that is under way, as its driver told last; nil: none is
	planAt time.Time // when it did
	leaves []leaving
}

// invited is a node that was invited, with the channel for the outcome.
type invited struct {
	node   bellows.NodeID
	since  time.Time
	turn   chan<- []bellows.NodeID // has room
	left   func() error            // not nil: the node is not awaited any more
	answer func(error)
}

// moving is a split that is to move.
type moving struct {
	split    bellows.SplitID
	from, to bellows.NodeID
	since    time.Time
	answer   chan<- error // has room
}

// supersede answers the earlier request to move the split, which is dropped.
func (l *lead) supersede(s bellows.SplitID) {
	l.moves = slices.DeleteFunc(l.moves, func(m moving) bool {
		if m.split == s {
			m.answer <- bellows.Errorf(bellows.Interrupted, "move a split", fmt.Sprintf("%d to node %d", s, m.to), "a later command sends it elsewhere")
		}
		return m.split == s
	})
}

// settle answers, at the end of a step, the requests that are complete, and reports them.
func (l *lead) settle() {
	for _, g := range l.guests {
		if why := g.left(); why != nil {
			l.shell.Uninvite(g.node, why)
		}
	}
	for _, o := range l.shell.Joins {
		l.joined(o)
	}
	for _, c := range l.shell.Calls {
		at := slices.IndexFunc(l.guests, func(g invited) bool { return g.node == c.Node })
		l.guests[at].turn <- c.Gone
	}
	l.shell.Calls = l.shell.Calls[:0]
	for _, n := range l.fx.Left {
		l.dropMember(n)
	}
	for _, b := range l.fx.Buried {
		l.removeLost(b)
	}
	if l.fx.Outcome != nil {
		for _, r := range l.leaves {
			r.answer <- errOver("remove a node")
		}
		l.leaves = nil
	}
	l.shell.Joins = l.shell.Joins[:0]
	var changes []Change
	l.moves = slices.DeleteFunc(l.moves, func(m moving) bool {
		switch {
		case l.route.Node(m.split) == m.to:
			m.answer <- nil
			changes = m.made(changes)
			return true
		case l.fx.Outcome != nil:
			m.answer <- errOver("move a split")
			return true
		}
		return false
	})
	for _, c := range changes {
		slices.Sort(c.Splits)
		c.Sentence = fmt.Sprintf("%s went from node %d to node %d, %.1f s after the command", splits(c.Splits), c.From, c.Node, c.Seconds)
		l.change(c)
	}
	l.settleShifts()
}

// made adds a move to the changes of a step, with others between the same nodes. One that was there already is none.
func (m *moving) made(list []Change) []Change {
	if m.from == m.to {
		return list
	}
	i := slices.IndexFunc(list, func(c Change) bool { return c.From == m.from && c.Node == m.to })
	if i < 0 {
		i = len(list)
		list = append(list, Change{Kind: Moved, Node: m.to, From: m.from})
	}
	list[i].Splits = append(list[i].Splits, m.split)
	list[i].Seconds = max(list[i].Seconds, time.Since(m.since).Seconds())
	return list
}

// splits names some splits, at least one.
func splits(list []bellows.SplitID) string {
	if n := len(list); n > 4 {
		return fmt.Sprintf("%d splits", n)
	}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = fmt.Sprint(s)
	}
	if len(list) == 1 {
		return "split " + names[0]
	}
	return "splits " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// joined takes note of what has become of a newcomer.
func (l *lead) joined(o join.Outcome) {
	at := slices.IndexFunc(l.guests, func(g invited) bool { return g.node == o.Node })
	g := l.guests[at]
	l.guests = slices.Delete(l.guests, at, at+1)
	if o.Err != nil {
		l.mesh.Drop(o.Node)
		g.answer(o.Err)
		return
	}
	m := Member{o.Node, o.Slots, o.Lanes}
	l.members = append(l.members, m)
	process := 0
	if r := l.bookOf(o.Node).report; r != nil {
		process = int(r.Process)
	}
	l.change(Change{Kind: Joined, Node: o.Node, Process: process, Seconds: time.Since(g.since).Seconds(), Sentence: fmt.Sprintf("node %d has joined with %s, %.1f s after it was asked to", o.Node, brings(m), time.Since(g.since).Seconds())})
	g.answer(nil)
}

// brings describes what a node contributes.
func brings(m Member) string {
	slots, lanes := counted(m.Slots, "compute slot"), counted(m.Lanes, "lane")
	switch {
	case m.Slots == 0:
		return lanes
	case m.Lanes == 0:
		return slots
	}
	return slots + " and " + lanes
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// change tells of a change.
func (l *lead) change(c Change) {
	switch c.Kind {
	case Joined, Left:
		l.feed.Moved(1, 0)
	case Moved:
		l.feed.Moved(len(c.Splits)+len(c.Partitions), c.Bytes)
	case Gone:
		l.feed.Lost()
	}
	if l.opt.OnChange != nil {
		l.reporter.say(func() { l.opt.OnChange(c) })
	}
}
