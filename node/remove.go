package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/core/shell"
)

// Remove lets a node leave, and returns when it takes part no more: what it has counted is with a node that stays, its process
// ends without an error, and whatever becomes of it is no loss. It moves nothing: a node that has splits or
// partitions, or is to get some, is refused, and so is node 0. The end of the context does not undo it.
func (c *Commands) Remove(ctx context.Context, n bellows.NodeID) error {
	left := make(chan error, 1)
	if err := c.ask(ctx, "remove a node", func(l *lead) error { return l.remove(n, left) }); err != nil {
		return err
	}
	select {
	case err := <-left:
		return err
	case <-ctx.Done():
		return bellows.Errorf(bellows.Unavailable, "remove a node", fmt.Sprintf("node %d", n), "it leaves, and has not left yet: %w", context.Cause(ctx))
	}
}

// leaving is a node that leaves, with the channel for the outcome.
type leaving struct {
	node   bellows.NodeID
	since  time.Time
	answer chan<- error // has room
}

// remove makes the controller remove all that a node has in the job. The node owns nothing.
func (l *lead) remove(n bellows.NodeID, answer chan<- error) error {
	refuse := func(format string, args ...any) error {
		return bellows.Errorf(bellows.Config, "remove a node", fmt.Sprintf("node %d", n), format, args...)
	}
	switch {
	case l.finished:
		return errOver("remove a node")
	case l.isLeaving(n):
		return refuse("it is leaving already")
	case slices.ContainsFunc(l.moves, func(m moving) bool { return m.to == n }):
		return refuse("a split is on its way to it: move that elsewhere first")
	}
	err := l.shell.Remove(n, &l.fx)
	var has *shell.Owner
	switch {
	case errors.As(err, &has):
		return refuse("it has %s: move that to other nodes first", l.names(has))
	case bellows.KindOf(err) == bellows.Unavailable:
		return err
	case err != nil:
		return refuse("%w", err)
	}
	l.leaves = append(l.leaves, leaving{n, time.Now(), answer})
	return nil
}

// names says what a node has, by the names of tables.
func (l *lead) names(has *shell.Owner) string {
	var parts, tables []string
	if len(has.Splits) > 0 {
		parts = append(parts, splits(has.Splits))
	}
	for _, ref := range has.Partitions {
		if name := l.job.Tables[ref.Table].Name; !slices.Contains(tables, name) {
			tables = append(tables, name)
		}
	}
	if n := len(has.Partitions); n > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", counted(n, "partition"), strings.Join(tables, ", ")))
	}
	return strings.Join(parts, " and ")
}

func (l *lead) isLeaving(n bellows.NodeID) bool {
	return slices.ContainsFunc(l.leaves, func(r leaving) bool { return r.node == n })
}

// dropMember releases a node that has nothing of the job any more. The orderly end of its connections notifies it.
func (l *lead) dropMember(n bellows.NodeID) {
	l.mesh.Drop(n)
	l.members = slices.DeleteFunc(l.members, func(m Member) bool { return m.Node == n })
	for i, r := range l.leaves {
		if r.node != n {
			continue
		}
		seconds := time.Since(r.since).Seconds()
		l.change(Change{Kind: Left, Node: n, Seconds: seconds, Sentence: fmt.Sprintf("node %d has left, %.1f s after it was asked to", n, seconds)})
		r.answer <- nil
		l.leaves = slices.Delete(l.leaves, i, i+1)
		return
	}
}
