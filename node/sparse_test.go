package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/keys"
	"bellows/internal/require"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// The twins: the same rows in a sparse table, by keys, and in a dense one, by ids.
const (
	sparseTwin, denseTwin  = train.Table(0), train.Table(1)
	twinRows, twinSplits   = 400, 6
	touchesMost, twinWidth = 40, 3
)

// keyOf returns the key of a row of the twins.
func keyOf(id bellows.RowID) bellows.Key { return bellows.Key(keys.Hash(bellows.Key(id) + 1000)) }

// touched returns the rows that a task updates, some twice, in no order: in each clock others are seen first.
func touched(s bellows.SplitID, c bellows.Clock) []bellows.RowID {
	h := keys.Hash(bellows.Key(s)<<32 | bellows.Key(c))
	ids := make([]bellows.RowID, h%touchesMost)
	for i := range ids {
		h = keys.Hash(bellows.Key(h))
		ids[i] = bellows.RowID(h%(twinRows/10)) + bellows.RowID(h>>32%uint64(c+1))*twinRows/20
	}
	return ids
}

// twins updates both tables alike; under BSP by what it reads, which must be the same in both.
func twins(t *train.Task) error {
	bsp := t.Args() == nil || len(t.Args()) == 0
	ids := touched(t.Split(), t.Clock())
	list := make([]bellows.Key, len(ids))
	for i, id := range ids {
		list[i] = keyOf(id)
	}
	if t.Clock()%2 == 0 {
		t.PrefetchKeys(sparseTwin, list)
	}
	a, b := make([]float32, len(ids)*twinWidth), make([]float32, len(ids)*twinWidth)
	t.PullKeys(sparseTwin, list, a)
	t.Pull(denseTwin, ids, b)
	if bsp && !slices.Equal(a, b) {
		return fmt.Errorf("%v clock %d: keys read %v, rows %v", t.Split(), t.Clock(), a, b)
	}
	d := make([]float32, len(a))
	for i, v := range b {
		d[i] = float32(i%7 - 3)
		if bsp {
			d[i] = float32(v*0.01) + d[i]*0.37*float32(t.Split()+1)
		}
	}
	t.Push(denseTwin, ids, d)
	half := len(ids) / 2
	t.PushKeys(sparseTwin, list[:half], d[:half*twinWidth])
	for i := half; i < len(ids); i++ {
		t.PushKey(sparseTwin, list[i], d[i*twinWidth:(i+1)*twinWidth])
	}
	if len(ids) > 0 && bsp && !slices.Equal(t.PullKey(sparseTwin, list[0]), t.PullRange(denseTwin, ids[0], ids[0]+1)) {
		return fmt.Errorf("%v clock %d: after the update row %d differs", t.Split(), t.Clock(), ids[0])
	}
	t.SignalTaskCompletion(float64(len(ids)))
	return nil
}

func twinJob(rounds int, r table.Rule, run func(*train.Task) error) train.Job {
	start := table.Init{Kind: table.Fixed, Low: 0.5}
	return train.Job{
		Tables: []table.Schema{
			sparseTwin: {Name: "keys", Sparse: true, Rows: twinRows, Width: twinWidth, Rule: r, Partitions: 5, Init: start},
			denseTwin:  {Name: "ids", Rows: twinRows, Width: twinWidth, Rule: r, Partitions: 4, Init: start},
		},
		Splits:      twinSplits,
		Items:       func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 10} },
		Driver:      &train.Rounds{Splits: twinSplits, Each: func(r int, _ [][]float64, _ *train.Dispatcher) bool { return r+1 < rounds }},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return task(run), nil },
	}
}

// checkTwins wants the sparse table to have exactly the keys that were touched, ascending, each with the
// row of its twin, and an audit that agrees.
func checkTwins(t *testing.T, r *node.Result, rounds int) {
	t.Helper()
	ids := map[bellows.Key]bellows.RowID{}
	for s := range bellows.SplitID(twinSplits) {
		for c := range bellows.Clock(rounds) {
			for _, id := range touched(s, c) {
				ids[keyOf(id)] = id
			}
		}
	}
	list := r.Keys[sparseTwin]
	if len(list) != len(ids) || !slices.IsSorted(list) || len(r.Tables[sparseTwin]) != len(list)*twinWidth || r.Keys[denseTwin] != nil {
		t.Fatalf("%d keys (ascending: %v) and %d values; %d were touched", len(list), slices.IsSorted(list), len(r.Tables[sparseTwin]), len(ids))
	}
	for i, k := range list {
		id, there := ids[k]
		got, want := r.Tables[sparseTwin][i*twinWidth:(i+1)*twinWidth], r.Tables[denseTwin][id*twinWidth:(id+1)*twinWidth]
		if !there || !slices.Equal(got, want) {
			t.Fatalf("key %x (touched: %v) ends at %v, its twin %d at %v", k, there, got, id, want)
		}
	}
	checkAudit(t, r)
}

// TestSparseTablesAreDenseOnesByKey runs twins under every rule, in one process and over several nodes.
func TestSparseTablesAreDenseOnesByKey(t *testing.T) {
	t.Parallel()
	const rounds = 15
	for _, rule := range []table.Rule{{}, {Name: "sgd", Step: 0.1}, {Name: "momentum", Step: 0.1, Momentum: 0.9},
		{Name: "adagrad", Step: 0.1, Epsilon: 1e-6}, {Name: "adam", Step: 0.1, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999}} {
		t.Run("rule "+rule.Name, func(t *testing.T) {
			t.Parallel()
			one := runAlone(t, twinJob(rounds, rule, twins), node.Options{Slots: 2})
			checkTwins(t, one, rounds)
			for name, members := range shapes {
				r := gang{members: members, job: func(bellows.NodeID) train.Job { return twinJob(rounds, rule, twins) }}.done(t)
				checkTwins(t, r, rounds)
				if !slices.Equal(r.Tables[sparseTwin], one.Tables[sparseTwin]) {
					t.Errorf("%s: other bits than in one process", name)
				}
			}
		})
	}
}

// TestSparseTablesUnderStaleness adds whole numbers, whose sums do not depend on the order, with tables that may be
// read stale, and wants every split to see its own.
func TestSparseTablesUnderStaleness(t *testing.T) {
	t.Parallel()
	const rounds = 20
	for _, c := range []table.Consistency{table.SSP(2), table.Async} {
		j := func(bellows.NodeID) train.Job {
			j := twinJob(rounds, table.Rule{}, func(t *train.Task) error {
				mine := []bellows.Key{bellows.Key(t.Split()) << 60}
				own := make([]float32, twinWidth)
				if t.PullKeys(sparseTwin, mine, own); own[0] != 0.5+float32(t.Clock()) {
					return fmt.Errorf("split %d clock %d reads %v from its key", t.Split(), t.Clock(), own[0])
				}
				t.PushKeys(sparseTwin, mine, []float32{1, 0, 0})
				t.PushKeys(sparseTwin, []bellows.Key{77}, []float32{0, 1, 0})
				return nil
			})
			j.Tables[sparseTwin].Consistency = c
			j.Driver = &train.Clocks{Splits: twinSplits, Count: rounds}
			return j
		}
		r := gang{members: shapes["leader leads"], job: j}.done(t)
		want := []bellows.Key{0, 77}
		for s := range bellows.Key(twinSplits - 1) {
			want = append(want, (s+1)<<60)
		}
		if !slices.Equal(r.Keys[sparseTwin], want) {
			t.Fatalf("%v: keys %v", c, r.Keys[sparseTwin])
		}
		for i, k := range want {
			row := [twinWidth]float32{0.5 + rounds, 0.5, 0.5}
			if k == 77 {
				row = [twinWidth]float32{0.5, 0.5 + rounds*twinSplits, 0.5}
			}
			if got := [twinWidth]float32(r.Tables[sparseTwin][i*twinWidth:]); got != row {
				t.Errorf("%v: key %d ends at %v, not %v", c, k, got, row)
			}
		}
	}
}

// asked returns how many questions crossed between nodes in a run, and how many messages of rows.
func asked(t *testing.T, w *node.Watch) (pulls, rows int64) {
	t.Helper()
	p, err := w.Look(t.Context())
	require.NoError(t, err)
	for _, n := range p.Nodes {
		pulls, rows = pulls+n.Sent["pulls"].Frames, rows+n.Sent["rows"].Frames
	}
	return pulls, rows
}

// TestRepeatedKeysNeedTwoRounds runs jobs in which every split reads the same keys in each round and changes others from round to
// round: no split asks a lane in more than two rounds, and the bits are those of one process.
func TestRepeatedKeysNeedTwoRounds(t *testing.T) {
	t.Parallel()
	const rounds = 30
	again := func(t *train.Task) error {
		ids := touched(t.Split(), 1)
		list, v := make([]bellows.Key, len(ids)), make([]float32, len(ids)*twinWidth)
		for i, id := range ids {
			list[i] = keyOf(id)
		}
		t.PullKeys(sparseTwin, list, v)
		for i := range v {
			v[i] = float32(v[i]*0.01) + float32(i%7-3)*0.37*float32(t.Split()+1)
		}
		some := min(len(list), int(t.Clock()))
		t.PushKeys(sparseTwin, list[:some], v[:some*twinWidth])
		return nil
	}
	j := func() train.Job {
		j := twinJob(rounds, table.Rule{Name: "adagrad", Step: 0.1, Epsilon: 1e-6}, again)
		j.Tables = j.Tables[:denseTwin]
		return j
	}
	one := runAlone(t, j(), node.Options{Slots: 2})
	for name, members := range shapes {
		var watch node.Watch
		r := gang{members: members, lead: node.Options{Watch: &watch}, job: func(bellows.NodeID) train.Job { return j() }}.done(t)
		if !slices.Equal(r.Keys[sparseTwin], one.Keys[sparseTwin]) || !slices.Equal(r.Tables[sparseTwin], one.Tables[sparseTwin]) {
			t.Errorf("%s: other bits than in one process", name)
		}
		lanes := 0
		for _, m := range members {
			lanes += m.Lanes
		}
		if pulls, rows := asked(t, &watch); pulls == 0 || pulls > int64(2*twinSplits*lanes) || rows < rounds {
			t.Errorf("%s: %d questions and %d messages of rows in %d rounds", name, pulls, rows, rounds)
		}
	}
}

// TestASplitSeesItsOwnSubscribedKeys reads keys from one split under every consistency; one key appears late and one
// never. The split sees its own writes, and asks twice.
func TestASplitSeesItsOwnSubscribedKeys(t *testing.T) {
	t.Parallel()
	const rounds, late = 20, 7
	list := []bellows.Key{1 << 40, 2, 3}
	for _, c := range []table.Consistency{table.BSP, table.SSP(2), table.Async} {
		var watch node.Watch
		r := gang{members: []node.Member{{}, {Node: 1, Slots: 1}, {Node: 2, Lanes: 1}}, lead: node.Options{Watch: &watch},
			job: func(bellows.NodeID) train.Job {
				j := twinJob(rounds, table.Rule{}, func(t *train.Task) error {
					now := float32(t.Clock())
					want := []float32{0.5 + now, 0.5 + max(0, now-late), 0.5}
					for _, wrote := range []bool{false, true} {
						got := make([]float32, len(list)*twinWidth)
						t.PullKeys(sparseTwin, list, got)
						for i, w := range want {
							if got[i*twinWidth] != w {
								return fmt.Errorf("clock %v reads %v of key %d, not %v", now, got[i*twinWidth], list[i], w)
							}
						}
						if wrote {
							break
						}
						t.PushKeys(sparseTwin, list[:1], []float32{1, 0, 0})
						if want[0]++; now >= late {
							want[1]++
							t.PushKeys(sparseTwin, list[1:2], []float32{1, 0, 0})
						}
					}
					return nil
				})
				j.Tables, j.Splits = j.Tables[:denseTwin], 1
				j.Tables[sparseTwin].Partitions, j.Tables[sparseTwin].Consistency = 1, c
				j.Driver = &train.Clocks{Splits: 1, Count: rounds}
				return j
			}}.done(t)
		if want := []bellows.Key{2, 1 << 40}; !slices.Equal(r.Keys[sparseTwin], want) {
			t.Errorf("%v: keys %v, not %v", c, r.Keys[sparseTwin], want)
		}
		if pulls, rows := asked(t, &watch); pulls != 2 || rows < rounds {
			t.Errorf("%v: %d questions and %d messages of rows in %d clocks", c, pulls, rows, rounds)
		}
	}
}

// TestWorkersCountByKey uses the calls of Bösen's form on a sparse table of counts.
func TestWorkersCountByKey(t *testing.T) {
	t.Parallel()
	const clocks = 12
	counting := func(bellows.NodeID) train.Job {
		j := twinJob(0, table.Rule{}, nil)
		j.Tables = []table.Schema{{Name: "counts", Sparse: true, Rows: 50, Width: 2, DType: table.Int32, Consistency: table.SSP(1)}}
		train.Loop(&j, clocks, func(w *train.Worker) error {
			one, two := make([]float32, 2), make([]float32, 4)
			table.Counts(one)[1] = 1
			mine, all := bellows.Key(w.Split()), bellows.Key(1<<40)
			for range clocks {
				w.PushKey(0, mine, one)
				if got := table.Counts(w.PullKey(0, mine)); got[0] != 0 || got[1] != int32(w.CurrentClock())+1 {
					return fmt.Errorf("split %d clock %d counts %v", mine, w.CurrentClock(), got)
				}
				w.PushKeys(0, []bellows.Key{all, all}, append(one, one...))
				w.PullKeys(0, []bellows.Key{all, mine}, two)
				if n := table.Counts(two); n[1] < 2*twinSplits*int32(w.CurrentClock()-1) || n[3] != int32(w.CurrentClock())+1 {
					return fmt.Errorf("split %d clock %d counts %v", mine, w.CurrentClock(), n)
				}
				w.Clock()
			}
			return nil
		})
		return j
	}
	r := gang{members: shapes["leader works"], job: counting}.done(t)
	want := []int32{0, clocks, 0, clocks, 0, clocks, 0, clocks, 0, clocks, 0, clocks, 0, 2 * clocks * twinSplits}
	if !slices.Equal(table.Counts(r.Tables[0]), want) || len(r.Keys[0]) != twinSplits+1 || r.Keys[0][twinSplits] != 1<<40 {
		t.Errorf("keys %v count %v", r.Keys[0], table.Counts(r.Tables[0]))
	}
}

// TestSparseTablesResume stops a job with a stateful rule within any of its rounds, and resumes it in other shapes.
func TestSparseTablesResume(t *testing.T) {
	t.Parallel()
	const rounds = 10
	rule := table.Rule{Name: "adam", Step: 0.1, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999}
	whole := runAlone(t, twinJob(rounds, rule, twins), node.Options{})
	resumed := 0
	for stop := range bellows.Clock(6) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stopping := func(bellows.NodeID) train.Job {
			return twinJob(rounds, rule, func(t *train.Task) error {
				if t.Clock() == stop {
					cancel()
				}
				return twins(t)
			})
		}
		var r *node.Result
		var err error
		if stop%2 == 0 {
			r, _, err = gang{members: shapes["leader leads"], job: stopping}.run(ctx, t)
		} else {
			r, err = node.Train(ctx, stopping(0), node.Options{Slots: 2})
		}
		if err == nil && r.Image != nil {
			resumed++
			r, err = node.Train(context.Background(), twinJob(rounds, rule, twins), node.Options{Lanes: 3, Resume: r.Image})
		}
		require.NoError(t, err)
		checkTwins(t, r, rounds)
		if !slices.Equal(r.Tables[sparseTwin], whole.Tables[sparseTwin]) {
			t.Errorf("stopped in clock %d: ends with other bits", stop)
		}
	}
	if resumed == 0 {
		t.Error("no run was interrupted")
	}
}

// TestKeptSparseTableKeys keeps the tables before any key, and after some, and wants no key of
// later.
func TestKeptSparseTableKeys(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 2} {
		keeping := func(bellows.NodeID) train.Job {
			j := twinJob(5, table.Rule{}, func(t *train.Task) error {
				if t.Clock() > 0 {
					t.PushKey(sparseTwin, bellows.Key(t.Clock()), []float32{1, 1, 1})
				}
				return nil
			})
			j.Driver = &train.Rounds{Splits: twinSplits, Each: func(r int, _ [][]float64, to *train.Dispatcher) bool {
				if r == at {
					to.Keep()
				}
				return r < 4
			}}
			return j
		}
		one := runAlone(t, keeping(0), node.Options{})
		many := gang{members: shapes["server apart"], job: keeping}.done(t)
		for name, r := range map[string]*node.Result{"one process": one, "many nodes": many} {
			if want := []bellows.Key{1, 2}[:at]; !slices.Equal(r.Keys[sparseTwin], want) || len(r.Tables[sparseTwin]) != at*twinWidth {
				t.Errorf("%s, kept after round %d: keys %v, %d values", name, at, r.Keys[sparseTwin], len(r.Tables[sparseTwin]))
			}
		}
	}
}

// TestTooManyKeysEndJob creates keys without end.
func TestTooManyKeysEndJob(t *testing.T) {
	t.Parallel()
	flood := func(bellows.NodeID) train.Job {
		return twinJob(1<<20, table.Rule{}, func(t *train.Task) error {
			for i := range 100 {
				t.PushKey(sparseTwin, bellows.Key(t.Clock())<<32|bellows.Key(t.Split())<<16|bellows.Key(i), make([]float32, twinWidth))
			}
			return nil
		})
	}
	for name, members := range shapes {
		r, _, err := gang{members: members, job: flood}.run(context.Background(), t)
		if bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "table keys") || !strings.Contains(err.Error(), "declared with 400") {
			t.Errorf("%s: error %v", name, err)
		}
		if r.Audit.Disagreements(false) != nil {
			t.Errorf("%s: audit %+v", name, r.Audit)
		}
	}
}

// TestRowNamesInErrors wants a task that mixes the ways up, or leases rows that have keys,
// told so.
func TestRowNamesInErrors(t *testing.T) {
	t.Parallel()
	for want, run := range map[string]func(t *train.Task){
		"use PullKey":           func(t *train.Task) { t.PullRange(sparseTwin, 0, 1) },
		"table 0 is sparse":     func(t *train.Task) { t.Push(sparseTwin, []bellows.RowID{1}, make([]float32, twinWidth)) },
		"not declared Sparse":   func(t *train.Task) { t.PullKey(denseTwin, 1) },
		"table 9 has no keys":   func(t *train.Task) { t.PushKey(9, 1, nil) },
		"table keys is sparse":  func(t *train.Task) { t.Lease(sparseTwin, 0, train.Exclusive) },
		"room for 2 values":     func(t *train.Task) { t.PullKeys(sparseTwin, []bellows.Key{1}, make([]float32, 2)) },
		"2 deltas for 1 keys":   func(t *train.Task) { t.PushKey(sparseTwin, 1, []float32{1, 2}) },
		"no deltas were pushed": func(t *train.Task) { t.PullKeys(sparseTwin, nil, nil); panic("no deltas were pushed") },
	} {
		j := twinJob(1, table.Rule{}, func(t *train.Task) error { run(t); return nil })
		if _, err := node.Train(context.Background(), j, node.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
}
