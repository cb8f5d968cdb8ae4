package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	"bellows/bench/internal/follow"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/node"
)

// The part of a run that belongs to a cut: from a little before its beginning until it has been complete for a while;
// and how much before and after that shows the cost without one.
const (
	ahead  = 100 * time.Millisecond
	behind = time.Second
	beside = 2 * time.Second
)

// sample is how far a run was at a moment.
type sample struct {
	at    time.Time
	cpu   time.Duration // of the process so far
	epoch int
}

// course is a run, as it was seen from outside.
type course struct {
	samples []sample
	cuts    []span // of checkpoints, from the request until it was verified
	bytes   int64
}

// span is a stretch of time.
type span struct{ begin, end time.Time }

// cuts shows the cost of single checkpoints, by what their runs do around each: CPU and wall time of the stretch with
// one, beyond what as many epochs take before and after it. So the machine's slow and fast minutes affect both sides of
// a pair, which is three seconds long. Between two checkpoints is another stretch, without one, which is compared with
// its surroundings in the same way.
func (c *check) cuts(list []string, count, jobs int) {
	set := c.shelf.Ratings(users, items, ratings)
	program := c.shelf.Bellows()
	for _, every := range list {
		c.Section(fmt.Sprintf("single checkpoints, every %s: mf, %s, %d at a time", every, set.Origin, jobs))
		var found around
		runs := make([]*course, jobs)
		pair.RunTogether(jobs, func(i int) {
			runs[i] = watch(program, set, c.shelf.Path(fmt.Sprintf("seen-%s-%d", every, i)), every, (count+jobs-1)/jobs)
		})
		for _, r := range runs {
			found.add(r)
		}
		if len(found.cpu) == 0 {
			pair.Check(errors.New("checkpoints come too close to each other to tell what one costs: --every 12s or more"))
		}
		interval := pair.Median(found.interval).Value
		c.Note("%d checkpoints, the last of %d bytes; each is there %.3f s after its beginning; from one to the next %.1f s, in which a run takes %.1f s of CPU time", len(found.cpu), runs[0].bytes,
			pair.Median(found.took).Value, interval, pair.Median(found.spent).Value)
		own := node.Interval(pair.Seconds(pair.Median(found.took).Value), 1).Seconds()
		c.Note("a job's own choice is one in %.0f s: of CPU time that is %.2g %%, a quotient and no measurement", own, 100*pair.Median(found.cpu).Value/own*interval/pair.Median(found.spent).Value)
		c.Note("CPU time of one: %v s; of a stretch of the same length without: %v s", pair.Median(found.cpu), pair.Median(found.cpuNone))
		c.Note("wall time of one: %v s; of a stretch of the same length without: %v s", pair.Median(found.wall), pair.Median(found.wallNone))
		for _, f := range []struct {
			clock     string
			one, none []float64
		}{{"CPU time", found.cpuShare, found.cpuNoneShare}, {"wall time", found.wallShare, found.wallNoneShare}} {
			q := pair.Median(f.one)
			fact := pair.Fact{Figure: fmt.Sprintf("one in %.0f s, %s in times of none, %d pairs: end of the interval", interval, f.clock, len(f.one)), Ours: q.High, Exact: true}
			if f.clock == "CPU time" || jobs == 1 { // jobs in parallel wait for each other
				fact.Peer, fact.Bound = "limit", most
			}
			c.AddFact(fact)
			c.Note("%s: %v of none; a stretch without, of its surroundings: %v", f.clock, q, pair.Median(f.none))
		}
	}
}

// around is what was found around checkpoints, and in the midst between two.
type around struct {
	cpu, wall, cpuNone, wallNone                     []float64 // seconds
	cpuShare, wallShare, cpuNoneShare, wallNoneShare []float64 // of what a run takes from one checkpoint to the next without it, and 1
	took, interval, spent                            []float64 // seconds
}

// add analyses a run. The last checkpoint only ends the stretch after its predecessor.
func (a *around) add(r *course) {
	for i := range len(r.cuts) - 1 {
		at, next := r.cuts[i], r.cuts[i+1]
		window := span{at.begin.Add(-ahead), at.end.Add(behind)}
		mid := window.begin.Add(next.begin.Sub(at.begin) / 2)
		cpu, wall, ok := r.beyond(window)
		cpuNone, wallNone, okNone := r.beyond(span{mid, mid.Add(window.end.Sub(window.begin))})
		if !ok || !okNone || mid.Sub(window.end) < beside || next.begin.Add(-ahead).Sub(mid.Add(window.end.Sub(window.begin))) < beside {
			continue
		}
		from, to := r.find(at.begin), r.find(next.begin)
		spent, long := (to.cpu - from.cpu).Seconds(), to.at.Sub(from.at).Seconds()
		a.cpu, a.wall, a.cpuNone, a.wallNone = append(a.cpu, cpu), append(a.wall, wall), append(a.cpuNone, cpuNone), append(a.wallNone, wallNone)
		a.cpuShare, a.wallShare = append(a.cpuShare, spent/(spent-cpu)), append(a.wallShare, long/(long-wall))
		a.cpuNoneShare, a.wallNoneShare = append(a.cpuNoneShare, spent/(spent-cpuNone)), append(a.wallNoneShare, long/(long-wallNone))
		a.took, a.interval, a.spent = append(a.took, at.end.Sub(at.begin).Seconds()), append(a.interval, next.begin.Sub(at.begin).Seconds()), append(a.spent, spent)
	}
}

// beyond returns the CPU and wall time of a stretch beyond what as many epochs take next to it.
func (r *course) beyond(w span) (cpu, wall float64, ok bool) {
	if len(r.samples) == 0 || w.begin.Add(-beside).Before(r.samples[0].at) || w.end.Add(beside).After(r.samples[len(r.samples)-1].at) {
		return 0, 0, false
	}
	a, b, c, d := r.find(w.begin.Add(-beside)), r.find(w.begin), r.find(w.end), r.find(w.end.Add(beside))
	epochs := float64(b.epoch - a.epoch + d.epoch - c.epoch)
	if epochs == 0 {
		return 0, 0, false
	}
	here := float64(c.epoch - b.epoch)
	cpu = (c.cpu - b.cpu).Seconds() - here*(b.cpu-a.cpu+d.cpu-c.cpu).Seconds()/epochs
	wall = c.at.Sub(b.at).Seconds() - here*(b.at.Sub(a.at)+d.at.Sub(c.at)).Seconds()/epochs
	return cpu, wall, true
}

// find returns the first sample at or after a time, or the last of all.
func (r *course) find(at time.Time) sample {
	i := sort.Search(len(r.samples), func(i int) bool { return !r.samples[i].at.Before(at) })
	return r.samples[min(i, len(r.samples)-1)]
}

// watch runs a job until so many checkpoints have passed and one more is there, and ends it.
func watch(program string, set sets.Pair, out, every string, count int) *course {
	r := &course{}
	var c *follow.Command
	c = follow.Start(func(e follow.Event) {
		switch {
		case follow.IsEpoch(e):
			if cpu, err := pair.CPUTimeOf(c.PID()); err == nil { // else the job has ended, which Await tells
				r.samples = append(r.samples, sample{time.Now(), cpu, *e.Epoch})
			}
		case e.Kind == "checkpoint":
			r.cuts = append(r.cuts, span{e.Time.Add(-pair.Seconds(e.Seconds)), e.Time})
			r.bytes = e.Bytes
		}
	}, program, trainWords(set, out, every)...)
	defer os.RemoveAll(out)
	defer c.Kill()
	for range count + 1 { // the last only ends what comes before it
		c.Await("checkpoint", cutWithin, follow.HasKind("checkpoint"))
	}
	return r
}

// cutWithin bounds the wait for a checkpoint.
const cutWithin = 10 * time.Minute

// trainWords returns the arguments of a job that trains until it is killed, with a checkpoint after each interval.
func trainWords(set sets.Pair, out, every string) []string {
	return []string{"train", "mf", set.Train, "--set", "early_stop=false", "--epochs", "10000000", "--cache", filepath.Join(filepath.Dir(out), "cache"), "--out", out, "--json",
		"--checkpoint-every", every}
}
