package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellows"
	"bellows/bench/internal/pair"
	"bellows/bench/lab/internal/jobs"
	"bellows/core/tally"
	"bellows/node"
	"bellows/sim/lab"
	"bellows/sim/lab/link"
	"bellows/sim/lab/script"
	"bellows/table"
)

// megabit is bytes a second.
const megabit = 1e6 / 8

// make returns the cluster that the flags describe, of machines that wake up as the one that costs were fitted on.
func (s site) make(f fitted) lab.Site {
	servers := s.servers
	if servers == 0 {
		servers = s.nodes
	}
	made := lab.Cluster(s.nodes, servers, lab.Machine{Cores: s.cores, Up: s.bandwidth * megabit, Down: cmp.Or(s.down, s.bandwidth) * megabit})
	for i := range made.Nodes {
		made.Nodes[i].Budget = link.Budget{Rate: s.budget * megabit, Burst: link.PacketMost}
	}
	made.Slice = s.slice
	made.Latency, made.Nap, made.WakeLatency = s.latency, nap, f.WakeLatency
	return made
}

// experiment trains on the cluster that the flags describe.
func (b *bench) experiment() {
	slow := pair.Must(slowness(b.slow, b.site.nodes))
	b.world.cuts.Rate = b.world.store * 1e6
	f := b.costs(false)
	b.Header("lab: %s on %d machines of %d cores, links of %v Mbit/s, latency %v, staleness %d, seed %d",
		b.order.App, b.site.nodes, b.site.cores, b.site.bandwidth, b.site.latency, b.order.Staleness, b.seed)
	b.say("costs in ns of a core: %+v", f.Costs)
	b.show(trial(b.order, b.site.make(f), lab.Config{Seed: b.seed, Costs: f.Costs, Slow: slow, Load: pair.Must(load(b.world.load)), Jitter: b.chance,
		Script: b.world.script, Cuts: b.world.cuts, Recovery: b.world.recovery}))
}

// trial runs a job in the laboratory, and takes the time.
func trial(o jobs.Order, site lab.Site, cfg lab.Config) (*lab.Result, time.Duration) {
	m := pair.Must(o.Make())
	cfg.Job, cfg.Site = m.Job, placed(site, m.Job.Tables)
	began := time.Now()
	r := pair.Must(lab.Run(cfg))
	return r, time.Since(began)
}

// placed returns a site whose nodes hold tables as those of a real job do.
func placed(site lab.Site, tables []table.Schema) lab.Site {
	members := make([]node.Member, len(site.Nodes))
	for i, n := range site.Nodes {
		members[i] = node.Member{Node: bellows.NodeID(i), Slots: n.Slots, Lanes: n.Lanes}
	}
	site.Nodes = slices.Clone(site.Nodes)
	for i, m := range node.Place(members, tables, false) {
		site.Nodes[i].Lanes = m.Lanes
	}
	return site
}

// linkBytes is what passed a node's link.
type linkBytes struct {
	Node     int  `json:"node"`
	Sent     flow `json:"sent"`
	Received flow `json:"received"`
}

// flow is messages between nodes and their bytes, as --json prints them.
type flow struct {
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
}

// flowOf returns a flow as --json prints it.
func flowOf(f tally.Flow) flow { return flow{f.Frames, f.Bytes} }

// phases returns slot time by the names of its phases.
func phases(s *tally.Spent) map[string]int64 {
	m := map[string]int64{}
	for p, d := range s {
		m[tally.Phase(p).String()] = d.Nanoseconds()
	}
	return m
}

func (b *bench) show(r *lab.Result, wall time.Duration) {
	b.say("\n%5s %-44s %10s %10s  %s  %9s %9s", "epoch", "metrics", "virtual", "trained", "compute  pull  push commit  idle", "messages", "MB")
	for _, e := range r.Epochs {
		metrics, words := map[string]float64{}, []string{}
		for _, m := range e.Metrics {
			metrics[m.Name], words = m.Value, append(words, fmt.Sprintf("%s %.4f", m.Name, m.Value))
		}
		b.say("%5d %-44s %9.4fs %9.4fs  %s  %9d %9.2f", e.Number, strings.Join(words[:min(2, len(words))], " "),
			e.Time.Seconds(), e.Trained.Seconds(), shares(&e.Phases), e.Traffic.Frames, float64(e.Traffic.Bytes)/1e6)
		b.figures(map[string]any{"epoch": e.Number, "items": e.Items, "metrics": metrics, "virtual_seconds": e.Time.Seconds(),
			"virtual_trained_seconds": e.Trained.Seconds(), "slot_nanoseconds": phases(&e.Phases), "traffic": flowOf(e.Traffic)})
	}
	var links []linkBytes
	var most linkBytes
	for i, n := range r.Nodes {
		l := linkBytes{i, flowOf(n.Sent.Total()), flowOf(n.Received.Total())}
		if links = append(links, l); l.Sent.Bytes+l.Received.Bytes > most.Sent.Bytes+most.Received.Bytes {
			most = l
		}
	}
	b.say("\nbusiest link: node %d, %.2f MB up and %.2f MB down", most.Node, float64(most.Sent.Bytes)/1e6, float64(most.Received.Bytes)/1e6)
	for _, e := range r.Script {
		b.say("%s", eventLine(e))
	}
	b.say("reads by the clocks that they missed: %v", r.Staleness)
	b.say("%d commits, row deltas sent %d = applied %d + dropped %d", r.Commits, r.Sent, r.Applied, r.Dropped)
	b.say("%.3f s of virtual time in %.3f s, %.1f times as fast; %d events, hash %016x, kernels %s",
		r.Time.Seconds(), wall.Seconds(), r.Time.Seconds()/wall.Seconds(), r.Events, r.Hash, r.Kernels)
	b.figures(map[string]any{"virtual_seconds": r.Time.Seconds(), "virtual_trained_seconds": r.Trained.Seconds(), "wall_seconds": wall.Seconds(),
		"hash": strconv.FormatUint(r.Hash, 16), "kernels": r.Kernels, "events": r.Events, "commits": r.Commits,
		"sent": r.Sent, "applied": r.Applied, "dropped": r.Dropped, "staleness": r.Staleness, "slot_nanoseconds": phases(&r.Phases), "links": links})
}

// eventLine returns a line about an event of the script.
func eventLine(e script.Result) string {
	switch {
	case e.Kind == script.Slow:
		return fmt.Sprintf("%v: node %d is %v times slower for %v", e.At, e.Node, e.Slower, e.For)
	case e.Err != "":
		return fmt.Sprintf("%v: %s fails: %s", e.At, e.Kind, e.Err)
	case e.Done == 0:
		return fmt.Sprintf("%v: %s has not come about", e.At, e.Kind)
	}
	return fmt.Sprintf("%v: %s, done in %v", e.Began, e.Kind, e.Done-e.Began)
}

// shares returns the phases in percent of slot-time.
func shares(s *tally.Spent) string {
	percent := func(p tally.Phase) float64 { return 100 * s[p].Seconds() / max(1e-9, s.Total().Seconds()) }
	return fmt.Sprintf("%6.1f%% %4.1f%% %4.1f%% %5.1f%% %4.1f%%", percent(tally.Compute), percent(tally.PullWait), percent(tally.PushWait),
		percent(tally.CommitWait), percent(tally.Idle))
}
