package verbs

import (
	"context"
	"errors"
	"slices"

	"bellows"
	"bellows/api"
	"bellows/cli/internal/event"
	"bellows/cli/internal/lives"
	"bellows/cli/internal/nodenames"
)

// names returns the names of the job's nodes in its cluster; nil: it runs in no cluster.
func (t *training) names() *nodenames.Table {
	if l := t.opt.cluster.lead; l != nil {
		return &l.Names
	}
	return nil
}

// lookAt looks at the job, and names its nodes as its cluster does.
func (t *training) lookAt(ctx context.Context) (api.Progress, error) {
	p, err := t.look.Look(ctx)
	names := t.names()
	if names == nil || err != nil {
		return p, err
	}
	p.Nodes, p.Moves = slices.Clone(p.Nodes), slices.Clone(p.Moves) // the job's own are not changed
	for i := range p.Nodes {
		p.Nodes[i].ID = names.Text(p.Nodes[i].ID)
	}
	for i := range p.Moves {
		p.Moves[i].From, p.Moves[i].To = names.Text(p.Moves[i].From), names.Text(p.Moves[i].To)
	}
	if p.Plan != nil {
		plan := *p.Plan
		plan.Reason = names.Text(plan.Reason)
		p.Plan = &plan
	}
	return p, nil
}

// recoveries returns what deaths have cost, with the nodes named as the job's cluster does.
func (t *training) recoveries() []lives.Recovery {
	list := append([]lives.Recovery{}, t.Recoveries...)
	for i := range list {
		list[i].Rollback = event.Event{Rollback: list[i].Rollback}.Renamed(t.names().Text).Rollback
	}
	return list
}

// inCluster names the nodes in an error of the job as its cluster does.
func (t *training) inCluster(err error) error {
	var typed *bellows.Error
	if errors.As(err, &typed) && typed.Err != nil {
		typed.Err = t.names().Error(typed.Err)
	}
	return err
}
