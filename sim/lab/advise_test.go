package lab_test

import (
	"testing"

	"bellows/app/mlr"
	"bellows/policy/choose"
	"bellows/policy/reshape"
	"bellows/sim/lab"
)

// TestJobLeavesBadShape begins with a worker and five servers, of a job that mostly computes. It changes its shape once,
// is faster then, and leaves the model of a job that has not changed.
func TestJobLeavesBadShape(t *testing.T) {
	t.Parallel()
	bsp := 0
	play := func(ask *choose.Ask, roles ...lab.Role) *lab.Result {
		cfg := lab.Config{Job: made(t, mlr.New(), 40, &bsp, map[string]string{"splits": "12", "clocks": "2"}).Job, Seed: 1,
			Costs: lab.Costs{Item: 50_000}, Jitter: 0.02, Choose: ask}
		cfg.Job.Tables[0].Bounds, cfg.Job.Tables[0].Partitions = nil, 8
		cfg.Site = lab.Cluster(6, 6, lab.Machine{Cores: 1, Up: 1e7, Down: 1e7})
		first := cfg.Deal(append([]lab.Role{0}, roles...))
		cfg.Shape = &first
		return run(t, cfg)
	}
	bad := []lab.Role{reshape.Worker, reshape.Server, reshape.Server, reshape.Server, reshape.Server, reshape.Server}
	stays := play(nil, bad...)
	changes := play(&choose.Ask{Apart: true}, bad...)
	if !sameBits(stays.Tables, changes.Tables) || len(stays.Advised) > 0 {
		t.Error("the model depends on the shape")
	}
	made := 0
	for _, a := range changes.Advised {
		if a.Change {
			made++
			if w, s := a.Shape.Counts(); w < 4 || s < 1 || a.Done <= a.At || a.Err != "" {
				t.Errorf("%d workers and %d servers at %v, done at %v; %s %s", w, s, a.At, a.Done, a.Reason, a.Err)
			}
		}
	}
	if made != 1 || len(changes.Advised) < 2 || changes.Time > stays.Time*3/4 {
		t.Errorf("%d changes in %d decisions; %v, without them %v", made, len(changes.Advised), changes.Time, stays.Time)
	}
}
