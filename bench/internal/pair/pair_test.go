package pair

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary play the other process of a Child.
func TestMain(m *testing.M) {
	if os.Getenv("PAIR_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	if core := os.Getenv("PAIR_TEST_CORE"); core != "" {
		fmt.Fprintf(os.Stderr, "Core: %s\n", core)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch in.Text() {
		case "turn":
			fmt.Println("1000 0.5 0.25 7")
		case "bad":
			fmt.Println("12 twelve")
		case "die":
			fmt.Fprintln(os.Stderr, "first line\nout of paper")
			os.Exit(3)
		default:
			fmt.Println("error I do not know that")
		}
	}
	os.Exit(0)
}

func child(t *testing.T) *Child {
	t.Helper()
	t.Setenv("PAIR_TEST_CHILD", "1")
	c, err := Start("other", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestInterleaveTakesTurns(t *testing.T) {
	t.Parallel()
	var order []string
	side := func(name string) Side {
		return Side{Name: name, Run: func() Turn {
			order = append(order, name)
			return Turn{Work: float64(len(order)), Wall: time.Second, CPU: time.Second}
		}}
	}
	all := Interleave(2, side("a"), side("b"))
	if got := strings.Join(order, ""); got != "ababab" {
		t.Errorf("order %s, want ababab: the first pair warms up", got)
	}
	if got := []float64{all[0].Turns[0].Work, all[1].Turns[0].Work, all[0].Turns[1].Work}; !slices.Equal(got, []float64{3, 4, 5}) {
		t.Errorf("counted turns %v, want those after the first pair: 3 4 5", got)
	}
}

func TestInterleaveNamesTheSideThatFailed(t *testing.T) {
	t.Parallel()
	cause := errors.New("no data")
	err := Attempt(func() { Interleave(3, Side{Name: "peer", Run: func() Turn { return Must(Turn{}, cause) }}) })
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "peer") {
		t.Errorf("error %v, want one that names peer and wraps the cause", err)
	}
}

func series(work float64, wall ...time.Duration) Series {
	s := Series{Name: "s"}
	for _, w := range wall {
		s.Turns = append(s.Turns, Turn{Work: work, Wall: w, CPU: 2 * w})
	}
	return s
}

func TestRatioComparesNeighbours(t *testing.T) {
	t.Parallel()
	// The machine is three times slower in the second turn: a ratio of medians would not show that ours is always
	// twice as fast.
	ours, peer := series(10, time.Second, 3*time.Second, time.Second), series(10, 2*time.Second, 6*time.Second, 2*time.Second)
	if got := Ratio(ours, peer, Wall); got != (Spread{2, 2, 2}) {
		t.Errorf("ratio %v, want 2 in every turn", got)
	}
	if got := ours.Rates(CPU).Median; got != 5 {
		t.Errorf("rate by CPU time %v, want 5", got)
	}
	if got := ours.Costs(Wall); got != (Spread{0.1, 0.1, 0.3}) {
		t.Errorf("cost %v, want 0.1, 0.1, 0.3", got)
	}
}

func TestSpreadOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   []float64
		want Spread
	}{
		{nil, Spread{}},
		{[]float64{4}, Spread{4, 4, 4}},
		{[]float64{9, 1, 2}, Spread{2, 1, 9}},
		{[]float64{1, 9, 3, 5}, Spread{4, 1, 9}},
	} {
		if got := SpreadOf(c.in); got != c.want {
			t.Errorf("SpreadOf(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

func TestAmount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   Spread
		unit string
		want string
	}{
		{Spread{}, "s", "0 s"},
		{Spread{1, 1, 1}, "s", "1.00 s"},
		{Spread{0.00165, 0.0016, 0.0171}, "s", "1.65 (1.60-17.1) ms"},
		{Spread{127.4e6, 99.97e6, 1.37e9}, "ratings/s", "127 (100-1370) M ratings/s"},
		{Spread{118e9, 118e9, 118e9}, "flop/s", "118 Gflop/s"},
		{Spread{999.7, 999.7, 999.7}, "B", "1.00 kB"},
		{Spread{9.996, 9.996, 9.996}, "", "10.0"},
		{Spread{-2500, -2500, -2500}, "tasks", "-2.50 k tasks"},
		{Spread{3e-8, 3e-8, 3e-8}, "s", "30.0 ns"},
		{Spread{5e16, 5e16, 5e16}, "B", "50000 TB"},
	} {
		if got := amount(c.in, c.unit); got != c.want {
			t.Errorf("amount(%v, %q) = %q, want %q", c.in, c.unit, got, c.want)
		}
	}
}

func TestRepeatCountsWork(t *testing.T) {
	t.Parallel()
	calls := 0
	run := Repeat(time.Millisecond, 3, func() { calls++ })
	calls = 0
	turn := run()
	if turn.Work != float64(3*(calls-1)) || calls < 2 {
		t.Errorf("work %v after %d calls of 3, the first not counted", turn.Work, calls)
	}
}

func TestChildAnswers(t *testing.T) {
	c := child(t)
	turn := c.Side("turn").Run()
	if want := (Turn{Work: 1000, Wall: time.Second / 2, CPU: time.Second / 4}); turn != want {
		t.Errorf("turn %v, want %v", turn, want)
	}
	for request, want := range map[string]string{"bad": "not a number", "what": "I do not know that"} {
		if _, err := c.Ask(request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("asked for %s: error %v, want one with %q", request, err, want)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestChildThatDiesIsQuoted(t *testing.T) {
	c := child(t)
	_, err := c.Ask("die")
	if err == nil || !strings.Contains(err.Error(), "out of paper") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v, want its exit status and last words", err)
	}
}

func TestTableMarksWhatFallsShort(t *testing.T) {
	t.Parallel()
	fast, slow := series(10, time.Second), series(10, 2*time.Second)
	slow.Name = "peer"
	var text strings.Builder
	table := NewTable(&text, false)
	table.Add(Row{Figure: "lost", Unit: "B/s", Ours: slow, Peer: fast, Target: 0.9})
	table.Add(Row{Figure: "won", Unit: "B/s", Ours: fast, Peer: slow, Target: 0.9})
	table.Add(Row{Figure: "alone", Unit: "B/s", Ours: fast, Peer: Series{Name: "Other"}, Recorded: 5e6, Target: 0.9})
	table.AddFact(Fact{Figure: "accuracy", Unit: "%", Ours: 79, Peer: "limit", Bound: 80, Least: true})
	table.AddFact(Fact{Figure: "size", Unit: "B", Ours: 79, Peer: "limit", Bound: 80})
	table.Close()
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	for i, want := range []struct {
		part  string
		below bool
	}{{"figure", false}, {"0.500 wall (0.500 cpu)", true}, {"2.000 wall", false}, {"recorded Other 5.00 MB/s", false}, {"limit 80.0", true}, {"limit 80.0", false}} {
		if !strings.Contains(lines[i], want.part) || strings.HasSuffix(lines[i], "below") != want.below {
			t.Errorf("line %d %q: want %q, below %v", i, lines[i], want.part, want.below)
		}
	}
	if strings.Contains(lines[3], "wall") {
		t.Errorf("line %q has a ratio to a recorded figure", lines[3])
	}
	if last := lines[len(lines)-1]; last != "5 figures, 2 below target" {
		t.Errorf("last line %q", last)
	}
}

func TestTableAsJSON(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	table := NewTable(&text, true)
	table.Section("not shown")
	table.Add(Row{Figure: "f", Unit: "B/s", Ours: series(1, time.Second), Peer: Series{Name: "Other"}, Recorded: 5})
	table.Close()
	want := `{"clock":"wall","figure":"f","ours":{"median":1,"least":1,"most":1},"peer_name":"Other","recorded":5,"unit":"B/s"}
{"below":0,"rows":1}
`
	if text.String() != want {
		t.Errorf("got %swant %s", text.String(), want)
	}
}

// TestVerdict expects an error as soon as one row misses its target, with the number of such rows.
func TestVerdict(t *testing.T) {
	t.Parallel()
	table := NewTable(&strings.Builder{}, false)
	table.AddFact(Fact{Figure: "fits", Ours: 1, Peer: "limit", Bound: 2})
	if err := table.Verdict(); err != nil {
		t.Error(err)
	}
	table.AddFact(Fact{Figure: "too much", Ours: 3, Peer: "limit", Bound: 2})
	if err := table.Verdict(); err == nil || !strings.Contains(err.Error(), "1 of 2") {
		t.Errorf("the verdict on one of two rows: %v", err)
	}
}
