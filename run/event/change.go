package event

import (
	"fmt"

	"bellows"
	"bellows/figures"
	"bellows/node"
)

// FromChange returns the event of a change of a job's members or owners.
func FromChange(c node.Change) Event {
	e := Event{Node: name(c.Node), Sentence: c.Sentence}
	switch c.Kind {
	case node.Joined:
		e.Kind, e.Processes = Joined, map[string]int{e.Node: c.Process}
	case node.Left:
		e.Kind = Left
	case node.Gone:
		e.Kind, e.Units = Gone, c.Units
		for _, s := range c.Splits {
			e.Splits = append(e.Splits, int(s))
		}
	case node.Moved:
		e.Kind, e.From = Moved, name(c.From)
		for _, s := range c.Splits {
			e.Splits = append(e.Splits, int(s))
		}
		for _, p := range c.Partitions { // one
			e.Cargo = &Cargo{int(p.Table), int(p.Partition), c.Bytes, c.Seconds}
		}
	case node.Planned:
		e.Kind, e.Node, e.Decision = Plan, Leader, &Decision{Steps: c.Steps, Bytes: c.Bytes, Took: c.Seconds, Advice: c.Advice}
	}
	return e
}

// OfCheckpoint returns the event of a checkpoint.
func OfCheckpoint(c node.Checkpoint) Event {
	return Event{Kind: Checkpoint, Checkpointed: &Checkpointed{Commit: uint64(c.Commit), Written: c.Written, Within: c.Within.Seconds(), Every: c.Every.Seconds()},
		Sentence: fmt.Sprintf("a checkpoint at record %s: %s in %s s; the next in %s s", figures.Grouped(int64(c.Commit)), figures.Bytes(uint64(c.Written)), figures.Duration(c.Within.Seconds()), figures.Duration(c.Every.Seconds()))}
}

// OfRollback returns the event of a rollback; undone says what it costs, as Undone does, and most is how many there
// may be in a row.
func OfRollback(b *Rollback, model, undone string, most int) Event {
	to := "starts over"
	if b.ToCommit > 0 {
		to = fmt.Sprintf("resumes from the checkpoint at record %s of era %d", figures.Grouped(int64(b.ToCommit)), b.ToEra)
	}
	return Event{Kind: RolledBack, Node: Leader, Model: model, Rollback: b,
		Sentence: fmt.Sprintf("%s; %s: the run %s, in era %d, with %s (%d of at most %d times in a row without a new checkpoint)", b.Reason, undone, to, b.Era, b.TookOver, b.InRow, most)}
}

// OfTakeover returns the event of a job that another process leads from now on, while its nodes continued.
func OfTakeover(b *Rollback, model string, nodes, most int) Event {
	return Event{Kind: TakenOver, Node: Leader, Model: model, Rollback: b,
		Sentence: fmt.Sprintf("%s; no work is lost: the run continues after record %s of era %d with its %s, led by %s (%d of at most %d times in a row without a new checkpoint)",
			b.Reason, figures.Grouped(int64(b.ToCommit)), b.Era, figures.Plural(nodes, "node"), b.TookOver, b.InRow, most)}
}

func name(n bellows.NodeID) string { return fmt.Sprintf("node-%d", n) }
