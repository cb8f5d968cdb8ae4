package verbs

import (
	"context"

	"bellows/api"
	"bellows/cluster/nodenames"
	"bellows/cluster/recovery"
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

// recoveries returns the costs of deaths, with the names of the nodes in the cluster.
func (t *training) recoveries() []recovery.Restart {
	list := append([]recovery.Restart{}, t.Recoveries...)
	for i := range list {
		list[i].Rollback = event.Event{Rollback: list[i].Rollback}.Renamed(t.names().Text).Rollback
	}
	return list
}
