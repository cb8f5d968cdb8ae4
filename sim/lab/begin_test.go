package lab_test

import (
	"strings"
	"testing"
	"time"

	"bellows/app/mlr"
	"bellows/core/tally"
	"bellows/policy/reshape"
	"bellows/policy/shape"
	"bellows/sim/lab"
	"bellows/sim/lab/pattern"
	"bellows/sim/lab/script"
)

// TestJobBeginsInShape begins with two workers, two servers, a node that does both and an unused one, though all could
// do both, on links of unlike rates and with other work.
func TestJobBeginsInShape(t *testing.T) {
	t.Parallel()
	bsp := 0
	roles := []lab.Role{0, reshape.Worker, reshape.Server, reshape.Both, 0, reshape.Worker, reshape.Server}
	config := func() lab.Config {
		cfg := lab.Config{Job: made(t, mlr.New(), 4, &bsp, map[string]string{"splits": "9"}).Job, Seed: 1, Costs: costs, Jitter: 0.3}
		cfg.Job.Tables[0].Bounds, cfg.Job.Tables[0].Partitions = nil, 7
		cfg.Site = lab.Cluster(6, 6, lab.Machine{Cores: 1, Up: 1e8, Down: 1e8})
		cfg.Site.Machines[2].Up, cfg.Site.Machines[3].Down = 2e7, 1e7
		cfg.Load = pattern.Bursts(0.4, 10*time.Millisecond, 0.5)
		return cfg
	}
	want := run(t, config())
	begin := config()
	first := begin.Deal(roles)
	if w, s := first.Counts(); w != 3 || s != 3 {
		t.Fatalf("%d workers and %d servers: %+v", w, s, first)
	}
	begin.Shape = &first
	quiet := run(t, begin)
	for i, n := range quiet.Nodes {
		works, computed := i < len(roles) && roles[i]&reshape.Worker != 0, n.Phases[tally.Compute] > 0
		serves, gave := i < len(roles) && roles[i]&reshape.Server != 0, n.Sent[tally.Rows].Bytes > 0
		if works != computed || serves != gave {
			t.Errorf("node %d works: %v, serves: %v; it has computed %v, and given %d bytes of rows", i, works, serves,
				n.Phases[tally.Compute], n.Sent[tally.Rows].Bytes)
		}
	}
	at := quiet.Epochs[0].Time
	for name, e := range map[string]script.Event{
		"quiet":  {At: at, Kind: script.Slow, Node: 1, Slower: 1},
		"leave":  {At: at, Kind: script.Leave, Node: 2},
		"both":   {At: at, Kind: script.Switch, Node: 1, Role: reshape.Both},
		"worker": {At: at, Kind: script.Switch, Node: 6, Role: reshape.Worker},
		"server": {At: at, Kind: script.Switch, Node: 3, Role: reshape.Server},
		"unused": {At: at, Kind: script.Switch, Node: 4, Role: reshape.Worker},
	} {
		cfg := config()
		cfg.Shape, cfg.Script = &first, []script.Event{e}
		r := run(t, cfg)
		if came(t, r); !sameBits(r.Tables, want.Tables) {
			t.Errorf("%s: the model is not that of a job with all roles", name)
		}
		last, before := r.Nodes[e.Node], quiet.Nodes[e.Node]
		switch name {
		case "leave":
			if n := r.Nodes[1].Sent[tally.Rows].Bytes; n > 0 {
				t.Errorf("a worker gives %d bytes of rows when a server has left", n)
			}
		case "both":
			if last.Sent[tally.Rows].Bytes == 0 {
				t.Error("a worker that also serves gives no rows")
			}
		case "worker":
			if last.Phases[tally.Compute] == 0 || last.Sent[tally.Rows].Bytes >= before.Sent[tally.Rows].Bytes {
				t.Errorf("a server becomes a worker: %+v, without that %+v", last, before)
			}
		case "server":
			if last.Phases[tally.Compute] >= before.Phases[tally.Compute] {
				t.Errorf("a node that gives its tasks away computes %v, else %v", last.Phases[tally.Compute], before.Phases[tally.Compute])
			}
		case "unused":
			if last.Phases[tally.Compute] == 0 {
				t.Error("an unused node becomes a worker, and computes nothing")
			}
		}
	}
}

// TestShapeThatCannotBeIsRefused names what is wrong with a first shape.
func TestShapeThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	s := toy{splits: 4, clocks: 5, rows: 10, width: 2}
	for want, spoil := range map[string]func(*shape.Shape){
		"3 splits":        func(s *shape.Shape) { s.Splits = s.Splits[:3] },
		"0 partitions":    func(s *shape.Shape) { s.Partitions = nil },
		"node 2 has 2 co": func(s *shape.Shape) { s.Nodes[2].Slots = 2 },
		"runs no tasks":   func(s *shape.Shape) { s.Splits[0] = 2 },
		"not there":       func(s *shape.Shape) { s.Partitions[0].Lane = 1 },
		"node 7":          func(s *shape.Shape) { s.Nodes[2].ID = 7 },
	} {
		cfg := lab.Config{Job: s.job(), Site: machines(2)}
		first := cfg.Deal([]lab.Role{0, reshape.Worker, reshape.Server})
		spoil(&first)
		cfg.Shape = &first
		if _, err := lab.Run(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in the error, got %v", want, err)
		}
	}
	cfg := lab.Config{Job: s.job(), Site: machines(2)}
	none := cfg.Deal([]lab.Role{0, reshape.Worker})
	cfg.Shape = &none
	if _, err := lab.Run(cfg); err == nil {
		t.Error("a job begins without a server")
	}
}
