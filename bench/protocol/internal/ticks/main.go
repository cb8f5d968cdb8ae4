// Package ticks measures the cost of ten checks and heartbeats a second for a job without losses. The same program,
// built with another time between checks, runs in turns.
//
// It builds itself with core/shell.TickMillis replaced, and needs Go. Jobs are of several processes joined by Unix
// sockets: one that does nothing but exchange a table, by its CPU time for each clock, and one whose tasks only wait,
// by its CPU time in each second.
package ticks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bellows"
	"bellows/api"
	"bellows/bench/internal/cluster"
	"bellows/bench/internal/pair"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// The table of the busy job, and how many parts the work of each has.
const (
	rows, width = 785, 10
	splits      = 4
)

// source is where the time is that is replaced, and was how it stands there.
const (
	source = "core/shell/doc.go"
	was    = "const TickMillis = 100\n"
)

// most is what ten looks a second may cost, in times of four.
const most = 1.02

// Program is the measurement.
var Program = pair.Program{Name: "ticks", Turns: [2]int{4, 15}, Define: define,
	Roles: map[string]func([]string){"ticks": cluster.Role(func(order string) (train.Job, error) { return job(order, nil), nil }), "play": play}}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	processes := flags.String("processes", "2,4", "`numbers` of processes of a job, with commas")
	seconds := flags.Float64("seconds", 3, "how long a job runs")
	other := flags.Int("beside", 250, "`milliseconds` from one look to the next that the usual ones are held against")
	return func(b *pair.Bench) {
		b.Header("ticks: what a look every 100 ms costs a job of several processes, beside one every %d ms", *other)
		folder := pair.Must(os.MkdirTemp("", "bellows-ticks-"))
		defer os.RemoveAll(folder)
		usual, rare := filepath.Join(folder, "usual"), filepath.Join(folder, "rare")
		build(usual, folder, 100)
		build(rare, folder, *other)
		for n := range strings.SplitSeq(*processes, ",") {
			takes, _ := compare(b, busy, n, *seconds, usual, rare)
			often, seldom := compare(b, idle, n, *seconds, usual, rare)
			b.Note("what the idle job pays more is %.2f %% of what the busy one takes: a quotient and no measurement", 100*(often-seldom)/takes)
		}
	}
}

// build builds this program with another time from one look to the next.
func build(program, folder string, millis int) {
	text, err := os.ReadFile(source)
	if err != nil {
		pair.Check(fmt.Errorf("run it from the root of the repository: %w", err))
	}
	if bytes.Count(text, []byte(was)) != 1 {
		pair.Check(fmt.Errorf("%s does not say %q: adapt this program", source, was))
	}
	replaced, overlay := filepath.Join(folder, "doc.go"), filepath.Join(folder, "overlay.json")
	pair.Check(os.WriteFile(replaced, bytes.Replace(text, []byte(was), fmt.Appendf(nil, "const TickMillis = %d\n", millis), 1), 0o666))
	list := pair.Must(json.Marshal(map[string]any{"Replace": map[string]string{pair.Must(filepath.Abs(source)): replaced}}))
	pair.Check(os.WriteFile(overlay, list, 0o666))
	pair.RunProgram("go build", "go", nil, "build", "-C", "bench", "-overlay", overlay, "-o", program, "./protocol")
}

// compare runs a job by both programs at once, in turns with the usual one compared with itself: what the machine does
// meanwhile is the same for both. It returns the CPU time in a second of either.
func compare(b *pair.Bench, kind, processes string, seconds float64, usual, rare string) (often, seldom float64) {
	both := func(programs ...string) (p [2]played) {
		pair.RunTogether(2, func(i int) {
			out, _ := pair.RunProgram(programs[i]+" "+kind, programs[i], nil, pair.RoleArgs("play", kind, processes, fmt.Sprint(seconds))...)
			pair.Check(json.Unmarshal(out, &p[i]))
		})
		return p
	}
	cost := func(p played) float64 {
		if kind == busy {
			return p.CPU / float64(p.Clocks)
		}
		return p.CPU / p.Seconds
	}
	b.Section(fmt.Sprintf("%s, %s processes and node 0, two such jobs at a time", kind, processes))
	var over, again, usually, rarely []float64
	for turn := range b.Turns + 1 {
		x, z := both(usual, rare), both(usual, usual)
		if turn == 0 {
			continue // caches
		}
		over, again = append(over, cost(x[0])/cost(x[1])), append(again, cost(z[0])/cost(z[1]))
		usually, rarely = append(usually, x[0].CPU/x[0].Seconds), append(rarely, x[1].CPU/x[1].Seconds)
	}
	often, seldom = pair.Median(usually).Value, pair.Median(rarely).Value
	b.Note("%.4g s of CPU time in a second with a look every 100 ms, %.4g with fewer", often, seldom)
	r := pair.Median(over)
	b.Note("%v times; the usual one beside itself %v", r, pair.Median(again))
	fact := pair.Fact{Figure: fmt.Sprintf("%s, %s processes, CPU time in times of fewer looks, %d pairs: end of the interval", kind, processes, b.Turns), Ours: r.High, Exact: true}
	if kind == busy {
		fact.Peer, fact.Bound = "limit", most
	}
	b.AddFact(fact)
	return often, seldom
}

// The jobs.
const (
	busy = "busy"
	idle = "idle"
)

// played is what a job came to, from the end of its first clock until it was to end.
type played struct {
	Clocks  int
	CPU     float64 // seconds, of all its processes
	Seconds float64
}

// play leads a job: its arguments are the kind of job, the number of processes and the seconds.
func play(args []string) {
	lead(args[0], pair.Must(strconv.Atoi(args[1])), pair.Seconds(pair.Must(strconv.ParseFloat(args[2], 64))))
}

// lead leads a job until its time is over, and prints what it came to.
func lead(kind string, processes int, long time.Duration) {
	var p played
	var began time.Time
	var before time.Duration
	var wrong error
	var pids []int
	joined := make(chan []api.Node, 1)
	spent := func() (all time.Duration) {
		for _, pid := range pids {
			one, err := pair.CPUTimeOf(pid)
			all, wrong = all+one, errors.Join(wrong, err)
		}
		return all
	}
	round := func(n int) bool {
		if n == 0 {
			for _, one := range <-joined {
				pids = append(pids, one.PID)
			}
			began, before = time.Now(), spent()
		}
		if time.Since(began) < long {
			return true
		}
		p = played{n, (spent() - before).Seconds(), time.Since(began).Seconds()}
		return false
	}
	cluster.Launch{Processes: processes, Slots: processes, Role: "ticks", Order: kind, Transport: "unix"}.Run(job(kind, round), node.Options{OnStart: func(nodes []api.Node) { joined <- nodes }})
	pair.Check(wrong)
	if len(pids) != processes+1 || p.Clocks == 0 {
		pair.Check(fmt.Errorf("%d processes are known and %d clocks have ended", len(pids), p.Clocks))
	}
	pair.Check(json.NewEncoder(os.Stdout).Encode(p))
}

// job returns the job of an order. Only node 0 learns of the end of a round.
func job(order string, round func(n int) bool) train.Job {
	j := cluster.Exchange(table.Schema{Name: "weights", Rows: rows, Width: width}, splits, func(n int, _ *train.Dispatcher) bool { return round(n) })
	if order == idle {
		j.NewExecutor = func(bellows.SplitID) (train.Executor, error) { return waiter{}, nil }
	}
	return j
}

// waiter is the executor of splits that do nothing but wait, and so let looks be all that there is.
type waiter struct{}

// RunTask waits.
func (waiter) RunTask(*train.Task) error {
	ctx, end := context.WithTimeout(context.Background(), time.Second)
	defer end()
	<-ctx.Done()
	return nil
}
