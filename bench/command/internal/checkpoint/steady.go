package checkpoint

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bellows/bench/internal/follow"
	"bellows/bench/internal/pair"
)

// The set of the steady part, whose model has 10 MB, and the allowed cost of checkpoints, in times of a run without.
const (
	users, items, ratings = 60_000, 20_000, 1_000_000
	most                  = 1.02
)

// heldFrom is the shortest interval with that goal: the shortest that the job chooses. A shorter one must be requested.
const heldFrom = 10 * time.Second

// interval is a time between two checkpoints, as --checkpoint-every takes it, and how long a run is that shows what it costs.
type interval struct {
	every string
	run   time.Duration
	held  bool // against what checkpoints may cost
}

// intervals returns those that were asked for, or those of the form.
func intervals(asked string, full bool) (list []interval) {
	if asked == "" {
		asked = "1s"
		if full {
			asked = "1s,5s,auto,60s"
		}
	}
	for every := range strings.SplitSeq(asked, ",") {
		i := interval{every, 25 * time.Second, true} // auto: the first after 10 s
		if every != "auto" {
			d := pair.Must(time.ParseDuration(every))
			i.run, i.held = 3*d+d/4, d >= heldFrom
			if d >= 30*time.Second {
				i.run = d + d/6
			}
		}
		list = append(list, i)
	}
	return list
}

// ran is what a run came to.
type ran struct {
	pair.Turn
	trained     float64 // seconds
	checkpoints int
	bytes       int64   // of the last of them
	took        float64 // seconds, of all of them
}

// steady runs a job with and without checkpoints, in turns, and once more without.
func (c *check) steady(list []interval) {
	set := c.shelf.Ratings(users, items, ratings)
	program := c.shelf.Bellows()
	run := func(epochs int, more ...string) (r ran) {
		last, lines, turn := c.shelf.Train(program, nil, append([]string{"mf", set.Train, "--set", "early_stop=false", "--epochs", strconv.Itoa(epochs),
			"--cache", c.shelf.Path("cache")}, more...)...)
		r.Turn, r.trained = turn, last.Stages["train"]
		for _, line := range lines {
			var e follow.Event
			if json.Unmarshal(line, &e) == nil && e.Kind == "checkpoint" {
				r.checkpoints++
				r.bytes = e.Bytes
				r.took += e.Seconds
			}
		}
		return r
	}
	const short = 20
	run(short, "--checkpoint", "none")                                  // parses the set
	epoch := run(10*short, "--checkpoint", "none").trained / 10 / short // the first epochs of a run take longer than the rest
	for _, i := range list {
		epochs := max(short, int(i.run.Seconds()/epoch))
		c.Section(fmt.Sprintf("checkpoints every %s: mf, %s, %d epochs", i.every, set.Origin, epochs))
		var wall, cpu, wallAgain, cpuAgain, seconds, each, one []float64
		count, size := 0, int64(0)
		for turn := range c.Turns + 1 {
			plain, saved, again := run(epochs, "--checkpoint", "none"), run(epochs, "--checkpoint-every", i.every), run(epochs, "--checkpoint", "none")
			if saved.checkpoints == 0 || plain.checkpoints+again.checkpoints > 0 {
				pair.Check(fmt.Errorf("%d checkpoints in %.1f s, and %d without: that shows nothing", saved.checkpoints, saved.trained, plain.checkpoints+again.checkpoints))
			}
			if turn == 0 {
				continue // caches
			}
			w, p := times(saved.Turn, plain.Turn)
			wall, cpu = append(wall, w), append(cpu, p)
			w, p = times(again.Turn, plain.Turn)
			wallAgain, cpuAgain = append(wallAgain, w), append(cpuAgain, p)
			seconds, each = append(seconds, saved.Wall.Seconds()), append(each, saved.took/float64(saved.checkpoints))
			one = append(one, (saved.CPU-(plain.CPU+again.CPU)/2).Seconds()/float64(saved.checkpoints))
			count, size = count+saved.checkpoints, saved.bytes
		}
		c.Note("%d checkpoints in %d runs of %.2f s; the last of %d bytes; each takes %.3f s during the job", count, c.Turns, pair.Median(seconds).Value, size, pair.Median(each).Value)
		c.Note("each costs %v s of CPU time: in the middle %.2g %% of one core at one in 10 s, the least interval that a job chooses, %.2g %% at one in 60 s", pair.Median(one),
			100*pair.Median(one).Value/10, 100*pair.Median(one).Value/60)
		for _, f := range []struct {
			clock       string
			over, again []float64
		}{{"CPU time", cpu, cpuAgain}, {"wall time", wall, wallAgain}} {
			r, a := pair.Median(f.over), pair.Median(f.again)
			fact := pair.Fact{Figure: fmt.Sprintf("every %s, %s in times of none: end of the interval", i.every, f.clock), Ours: r.High, Exact: true}
			if i.held {
				fact.Peer, fact.Bound = "limit", most
			}
			c.AddFact(fact)
			c.Note("%s: %v of none; none again beside itself %v", f.clock, r, a)
		}
	}
}
