package dryrun

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bellows"
	"bellows/policy/shape"
)

// cluster returns one by flags.
func cluster(t *testing.T, o options, workers, servers, splits int) *state {
	t.Helper()
	tables, all, err := parseTables(o.partitions)
	if err != nil {
		t.Fatal(err)
	}
	st, err := o.dealt(workers, servers, splits, tables, all)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestPlansLeadWhereTheyShould checks plans of every policy and goal: a step waits for exactly the steps of earlier
// rounds, no node has too many moves in a round, except small ones from a leaving node, and all bytes are shown.
func TestPlansLeadWhereTheyShould(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		servers := r.IntN(4)
		st := cluster(t, options{slots: 1 + r.IntN(2), lanes: 1 + r.IntN(3), partitions: []string{"16", "3,9", "1"}[r.IntN(3)], partitionBytes: 10, splitBytes: 3}, 1+r.IntN(5), servers, 1+r.IntN(40))
		st.Want.Workers, st.Want.Servers = 1+r.IntN(6), 1+r.IntN(4)
		name, atOnce := policyNames()[r.IntN(len(policies))], 1+r.IntN(3)
		p, err := st.planned(policies[name](seed), atOnce)
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, name, err)
		}
		total := int64(0)
		moves, leaves := map[int]map[string]int{}, map[string]bool{}
		for _, s := range p.Steps {
			leaves[s.Node] = leaves[s.Node] || s.Kind == "delete"
		}
		for _, s := range p.Steps {
			total += s.Bytes
			for _, j := range s.After {
				if p.Steps[j-1].Round >= s.Round {
					t.Errorf("seed %d: step %d is in round %d and waits for step %d in round %d", seed, s.Step, s.Round, j, p.Steps[j-1].Round)
				}
			}
			if s.Kind != "move" || leaves[s.From] {
				continue
			}
			if moves[s.Round] == nil {
				moves[s.Round] = map[string]int{}
			}
			moves[s.Round][s.Node]++
			if s.From != s.Node {
				moves[s.Round][s.From]++
			}
			if moves[s.Round][s.Node] > atOnce || moves[s.Round][s.From] > atOnce {
				t.Errorf("seed %d: more than %d moves of a node in round %d", seed, atOnce, s.Round)
			}
		}
		if total != p.Bytes || p.Reason == "" || name == "even" && p.Then.Workers != st.Want.Workers {
			t.Errorf("seed %d: %+v", seed, p)
		}
	}
}

// TestASnapshotIsTheState: what is printed is read again as the same.
func TestASnapshotIsTheState(t *testing.T) {
	t.Parallel()
	st := cluster(t, options{slots: 2, lanes: 2, partitions: "4,6", partitionBytes: 7, splitBytes: 5}, 3, 2, 11)
	st.Near[2], st.Want.Leaves = 3, []bellows.NodeID{2}
	text, err := json.Marshal(st.snapshot())
	if err != nil {
		t.Fatal(err)
	}
	again, err := readSnapshot("-", strings.NewReader(string(text)))
	if err != nil || !reflect.DeepEqual(again, st) {
		t.Errorf("%+v, %v, not %+v", again, err, st)
	}
}

// good is a snapshot that others are made of.
const good = `{"nodes":[{"id":1,"slots":1,"lanes":1},{"id":4,"slots":1,"lanes":0}],"tables":[1,1],"partitions":[{"node":1,"lane":0,"bytes":5,"near":0},{"node":1,"lane":0,"bytes":5}],"splits":[{"node":4,"bytes":0}]}`

// TestSnapshotsAreRefused by what is wrong with them.
func TestSnapshotsAreRefused(t *testing.T) {
	t.Parallel()
	st, err := readSnapshot("-", strings.NewReader(good))
	if err != nil || st.Want.Next != 5 || st.Want.Workers != 2 || st.Want.Servers != 1 {
		t.Fatalf("%+v, %v", st, err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"nodes":[`, `"nodes":[{"id":7,"slots":1,"lanes":1},`, "node 1 comes behind node 7"},
		{`"id":4`, `"id":-1`, "node -1 has 1 compute slots"},
		{`"id":4`, `"id":65535`, "node 65535 has 1 compute slots"},
		{`"slots":1,"lanes":1`, `"slots":1,"lanes":0`, "2 nodes run tasks and 0 hold partitions"},
		{`"tables":[1,1]`, `"tables":[1]`, "its tables have 1 partitions, and 2 are listed"},
		{`"tables":[1,1]`, `"tables":[2,0]`, "table 1 has 0 partitions"},
		{`"near":0`, `"near":1`, "partition 0 is near split 1, of 1"},
		{`"node":1,"lane":0,"bytes":5}`, `"node":2,"lane":0,"bytes":5}`, "partition 1 is at lane 0 of node 2, which is not there"},
		{`"bytes":5}`, `"bytes":-5}`, "partition 1 has -5 bytes"},
		{`"node":4,"bytes":0`, `"node":1000000,"bytes":0`, "split 0 is at node 1000000"},
		{`"splits"`, `"spltis"`, `unknown field "spltis"`},
		{`"splits":[`, `"want":{"workers":-1},"splits":[`, "-1 workers and 0 servers"},
		{`"splits":[`, `"want":{"workers":1,"servers":1,"slots":1,"lanes":1,"stays":1,"next":3},"splits":[`, "the next node is to be 3, and the last one is 4"},
		{`"splits":[`, `"want":{"workers":1,"servers":1,"slots":1,"lanes":1,"stays":2},"splits":[`, "the snapshot has no node 2, which is to stay"},
		{`"splits":[`, `"want":{"workers":1,"servers":1,"slots":1,"lanes":1,"stays":1,"leaves":[-4]},"splits":[`, "there is no node -4"},
		{`}]}`, `}]} {}`, "there is text after the snapshot"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%q is not in it", c.old)
		}
		if _, err := readSnapshot("-", strings.NewReader(text)); bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
	if _, err := readSnapshot(filepath.Join(t.TempDir(), "none"), os.Stdin); bellows.KindOf(err) != bellows.NoInput {
		t.Errorf("no file: %v", err)
	}
}

// FuzzSnapshot: whatever is read is refused, or planned for by any policy.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(t *testing.T, text []byte) {
		st, err := readSnapshot("-", strings.NewReader(string(text)))
		if err != nil || len(st.Nodes)+st.Want.Workers+st.Want.Servers > 100 || len(st.Splits)+len(st.Partitions) > 100 {
			return
		}
		for _, make := range []func(uint64) shape.Policy{policies["even"], policies["random"], policies["add-one"], policies["delete-one"]} {
			if _, err := st.planned(make(1), 2); err != nil && bellows.KindOf(err) == bellows.Bug {
				t.Fatal(err)
			}
		}
	})
}
