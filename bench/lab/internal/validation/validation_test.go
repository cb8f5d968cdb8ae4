package validation

import (
	"math"
	"slices"
	"testing"
	"time"

	"bellows/bench/lab/internal/netns"
	"bellows/sim/lab"
)

func TestChooseCases(t *testing.T) {
	t.Parallel()
	all, err := Choose(nil)
	if err != nil || len(all) != len(Cases()) {
		t.Errorf("%d cases without names, %v", len(all), err)
	}
	some, err := Choose([]string{"move", "links"})
	if err != nil || len(some) != 2 || some[0].Name != "links" || some[1].Name != "move" {
		t.Errorf("two names choose %v, %v", some, err)
	}
	if _, err := Choose([]string{"nothing"}); err == nil {
		t.Error("an unknown kind is taken")
	}
}

// TestPredictEveryCase plays every case in the laboratory. Its event completes, and something differs from a
// plain run.
func TestPredictEveryCase(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range Cases() {
		if names[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		names[c.Name] = true
		c.epochs = c.at + 6
		m := Model{Costs: lab.Costs{Item: float64(c.job.Item), SendByte: 1, ReceiveByte: 1}, Start: 100 * time.Millisecond, Store: time.Millisecond}
		plain, with := c.plain().Predict(m), c.Predict(m)
		if !c.differs() || plain == with {
			t.Errorf("%s: nothing differs from a plain run: %+v", c.Name, with)
		}
		if plain.Event != 0 || (c.change.event != nil) != (with.Event > 0) {
			t.Errorf("%s: the event takes %v s, and %v s in a plain run", c.Name, with.Event, plain.Event)
		}
		if (c.change.cuts > 0) != (with.Count > 0 && plain.Count > 0) {
			t.Errorf("%s: %d cuts, and %d in a plain run", c.Name, with.Count, plain.Count)
		}
		if len(c.nodes) > NodesMost {
			t.Errorf("%s: %d nodes", c.Name, len(c.nodes))
		}
	}
}

// TestFitFindsPlainRun fits a task's cost to a run that the laboratory itself made.
func TestFitFindsPlainRun(t *testing.T) {
	t.Parallel()
	c := Cases()[0]
	m := Model{Costs: lab.Costs{Item: float64(c.job.Item), Task: 7e6, Send: messageCost, Receive: messageCost, SendByte: byteCost,
		ReceiveByte: byteCost, Local: messageCost / 10}}
	was := c.plain().Predict(m)
	if got := c.fit(was); math.Abs(got.Costs.Task-m.Costs.Task) > 1e4 {
		t.Errorf("a task costs %v ns; want %v", got.Costs.Task, m.Costs.Task)
	}
}

func TestRowsHoldPredictionsAgainstMedians(t *testing.T) {
	t.Parallel()
	c := Case{Name: "move"}
	rows := c.rows("training", []Outcome{{Seconds: 1}, {Seconds: 3}, {Seconds: 2}}, Outcome{Seconds: 2.2})
	if len(rows) != 1 {
		t.Fatalf("%d rows, also of what is not there: %+v", len(rows), rows)
	}
	r := rows[0]
	if r.Kind != "move" || r.Measured != 2 || r.Least != 1 || r.Most != 3 || math.Abs(r.Ratio-1.1) > 1e-9 {
		t.Errorf("%+v", r)
	}
}

// TestBudgetLimitsNodeOne puts the bucket of node 1 in the place of its uplink, and leaves the others.
func TestBudgetLimitsNodeOne(t *testing.T) {
	t.Parallel()
	cases, err := Choose([]string{"budget"})
	if err != nil {
		t.Fatal(err)
	}
	c := cases[0]
	want := []netns.Link{{Up: 16 * megabit, Down: 40 * megabit, Burst: 128 << 10}, {Up: 40 * megabit, Down: 40 * megabit}, {Up: 40 * megabit, Down: 40 * megabit}}
	if got := c.wires(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if s := c.site(); s.Nodes[1].Budget.Rate != payload*16*megabit || s.Nodes[2].Budget.Rate != 0 {
		t.Errorf("budgets in the laboratory: %+v and %+v", s.Nodes[1].Budget, s.Nodes[2].Budget)
	}
}

// TestNodesOfOneCoreShareMachine puts two nodes on the machine of their core.
func TestNodesOfOneCoreShareMachine(t *testing.T) {
	t.Parallel()
	cases, err := Choose([]string{"slices"})
	if err != nil {
		t.Fatal(err)
	}
	c := cases[0]
	if s := c.site(); s.Nodes[1].Machine != s.Nodes[2].Machine || s.Machines[s.Nodes[1].Machine].Cores != 1 || s.Slice == 0 {
		t.Errorf("%+v", s)
	}
	if s := c.plain().site(); s.Nodes[1].Machine == s.Nodes[2].Machine {
		t.Errorf("plain: %+v", s)
	}
}

func TestQuotaOfBothVersions(t *testing.T) {
	t.Parallel()
	old := quota(4, "/g", "x", func(path string) bool { return path == "/g/cpu/cpu.cfs_quota_us" })
	if want := []groupFile{{"/g/cpu/x/cpu.cfs_period_us", "4000"}, {"/g/cpu/x/cpu.cfs_quota_us", "1000"}}; !slices.Equal(old, want) {
		t.Errorf("version 1: %v", old)
	}
	if got, want := quota(4, "/g", "x", func(string) bool { return false }), []groupFile{{"/g/x/cpu.max", "1000 4000"}}; !slices.Equal(got, want) {
		t.Errorf("version 2: %v", got)
	}
}

func TestSentBytesOfDevice(t *testing.T) {
	t.Parallel()
	const text = "Inter-|   Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 99 10\n  eth0: 11 2 3 4 5 6 7 8 1234 10 0\n"
	if got := sentBytes(text, "eth0"); got != 1234 {
		t.Errorf("%d bytes", got)
	}
	if got := sentBytes(text, "eth1"); got != 0 {
		t.Errorf("%d bytes of a device that is not there", got)
	}
}
