package event

import (
	"fmt"

	"bellows"
	"bellows/node"
)

// Of is the event of a change of who takes part in a job, or of who runs what.
func Of(c node.Change) Event {
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
		e.Kind, e.Node, e.Decision = Plan, Leader, &Decision{Steps: c.Steps, Bytes: c.Bytes, Took: c.Seconds}
	}
	return e
}

func name(n bellows.NodeID) string { return fmt.Sprintf("node-%d", n) }
