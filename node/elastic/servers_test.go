package elastic_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/node"
	"bellows/policy/shape"
	"bellows/train"
)

// TestTablesMoveWhileApplicationsTrain makes nodes hold tables that came while the job ran: what there is of them is dealt, and drawn anew again and again: eight
// times, three with -short.
func TestTablesMoveWhileApplicationsTrain(t *testing.T) {
	t.Parallel()
	for name, a := range applications {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := func() train.Job { return a.job(t) }
			quiet, err := node.Train(context.Background(), job(), node.Options{})
			require.NoError(t, err)
			v := newVillage(t, job, 3*a.rests, node.Member{Slots: 1, Lanes: 1})
			rng := rand.New(rand.NewPCG(1, 4))
			script := []func(context.Context) error{
				func(ctx context.Context) error { return second(v.shaper.Scale(ctx, 2, 2)) },
				func(ctx context.Context) error { return second(v.shaper.Scale(ctx, 3, 3)) },
			}
			moves := 8
			if testing.Short() {
				moves = 3
			}
			for range moves {
				script = append(script, func(ctx context.Context) error { return second(v.shaper.Shape(ctx, owners(rng))) })
			}
			r, err := v.run(script)
			require.NoError(t, err)
			v.equal(r, quiet)
		})
	}
}

// owners gives each partition to any node that holds some, and each split to any that runs some.
func owners(rng *rand.Rand) shape.Policy {
	return func(now shape.Snapshot) (shape.Decision, error) {
		d, err := anywhere(rng)(now)
		var servers []bellows.NodeID
		for _, n := range now.Nodes {
			if n.Lanes > 0 {
				servers = append(servers, n.ID)
			}
		}
		d.Partitions = make([]shape.Place, len(now.Partitions))
		for p := range d.Partitions {
			d.Partitions[p].Node = servers[rng.IntN(len(servers))]
		}
		return d, err
	}
}
