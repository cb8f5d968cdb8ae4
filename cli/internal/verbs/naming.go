package verbs

import (
	"context"
	"fmt"

	"bellows/api"
	"bellows/cluster/nodenames"
	"bellows/cluster/recovery"
	"bellows/policy/gauge"
	"bellows/run/event"
)

// names returns the names of the job's nodes in its cluster; nil: it runs in no cluster.
func (t *training) names() *nodenames.Map {
	if t.Lead != nil {
		return &t.Lead.Names
	}
	return nil
}

// lookAt looks at the job, with the names of its nodes in the cluster.
func (t *training) lookAt(ctx context.Context) (api.Progress, error) {
	p, err := t.look.Look(ctx)
	return t.names().Progress(p), err
}

// figures returns what the job has measured, with the names of its nodes in the cluster.
func (t *training) figures(ctx context.Context) (*gauge.Figures, error) {
	f, err := t.look.Figures(ctx)
	if err != nil {
		return nil, t.names().Error(err)
	}
	return t.named(f), nil
}

// named adds the names that nodes have in the cluster, which are those of their machines.
func (t *training) named(f *gauge.Figures) *gauge.Figures {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if id := fmt.Sprintf("node-%d", n.ID); t.names().Text(id) != id {
			n.Machine = t.names().Text(id)
		}
	}
	return f
}

// recoveries returns the costs of deaths, with the names of the nodes in the cluster.
func (t *training) recoveries() []recovery.Restart {
	list := append([]recovery.Restart{}, t.Recoveries...)
	for i := range list {
		list[i].Rollback = event.Event{Rollback: list[i].Rollback}.Renamed(t.names().Text).Rollback
	}
	return list
}
