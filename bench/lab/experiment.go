package main

import (
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
	"bellows/table"
)

// megabit is bytes a second.
const megabit = 1e6 / 8

// site is the cluster that the flags describe, of machines that wake up as the one that costs were fitted on.
func (s site) make(f fitted) lab.Site {
	servers := s.servers
	if servers == 0 {
		servers = s.nodes
	}
	link := s.bandwidth * megabit
	made := lab.Cluster(s.nodes, servers, lab.Machine{Cores: s.cores, Up: link, Down: link})
	made.Latency, made.Nap, made.WakeLatency = s.latency, nap, f.WakeLatency
	return made
}

// experiment trains on the cluster that the flags describe.
func (b *bench) experiment() {
	slow := pair.Must(pattern(b.slow, b.site.nodes))
	f := b.costs(false)
	b.Header("lab: %s on %d machines of %d cores, links of %v Mbit/s, latency %v, staleness %d, seed %d",
		b.order.App, b.site.nodes, b.site.cores, b.site.bandwidth, b.site.latency, b.order.Staleness, b.seed)
	b.say("costs in ns of a core: %+v", f.Costs)
	b.show(trial(b.order, b.site.make(f), lab.Config{Seed: b.seed, Costs: f.Costs, Slow: slow, Jitter: b.chance}))
}

// trial runs a job in the laboratory, and takes the time.
func trial(o jobs.Order, site lab.Site, cfg lab.Config) (*lab.Result, time.Duration) {
	m := pair.Must(o.Make())
	cfg.Job, cfg.Site = m.Job, placed(site, m.Job.Tables)
	began := time.Now()
	r := pair.Must(lab.Run(cfg))
	return r, time.Since(began)
}

// placed is a site whose nodes hold tables as those of a real job do.
func placed(site lab.Site, tables []table.Schema) lab.Site {
	members := make([]node.Member, len(site.Nodes))
	for i, n := range site.Nodes {
		members[i] = node.Member{Node: bellows.NodeID(i), Slots: n.Slots, Lanes: n.Lanes}
	}
	site.Nodes = slices.Clone(site.Nodes)
	for i, m := range node.Place(members, tables) {
		site.Nodes[i].Lanes = m.Lanes
	}
	return site
}

// epochRow is an epoch as --json prints it.
type epochRow struct {
	Epoch   int                `json:"epoch"`
	Items   int64              `json:"items"`
	Metrics map[string]float64 `json:"metrics"`
	Seconds float64            `json:"virtual_seconds"`
	Trained float64            `json:"virtual_trained_seconds"`
	Phases  map[string]int64   `json:"slot_nanoseconds"`
	Traffic flow               `json:"traffic"`
}

// resultRow is the end of an experiment as --json prints it.
type resultRow struct {
	Seconds   float64          `json:"virtual_seconds"`
	Trained   float64          `json:"virtual_trained_seconds"`
	Wall      float64          `json:"wall_seconds"`
	Hash      string           `json:"hash"`
	Kernels   string           `json:"kernels"`
	Events    int64            `json:"events"`
	Commits   uint64           `json:"commits"`
	Sent      int64            `json:"sent"`
	Applied   int64            `json:"applied"`
	Dropped   int64            `json:"dropped"`
	Staleness []int64          `json:"staleness"`
	Phases    map[string]int64 `json:"slot_nanoseconds"`
	Links     []linkBytes      `json:"links"`
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

// flowOf is a flow as --json prints it.
func flowOf(f tally.Flow) flow { return flow{f.Frames, f.Bytes} }

// linkOf is what passed the link of a node.
func linkOf(i int, n *lab.NodeResult) linkBytes {
	return linkBytes{i, flowOf(n.Sent.Total()), flowOf(n.Received.Total())}
}

// phases is slot time by the names of its phases.
func phases(s *tally.Spent) map[string]int64 {
	m := map[string]int64{}
	for p, d := range s {
		m[tally.Phase(p).String()] = d.Nanoseconds()
	}
	return m
}

func (b *bench) show(r *lab.Result, wall time.Duration) {
	if b.JSON {
		b.showJSON(r, wall)
		return
	}
	fmt.Printf("\n%5s %-44s %10s %10s  %s  %9s %9s\n", "epoch", "metrics", "virtual", "trained", "compute  pull  push commit  idle", "messages", "MB")
	for _, e := range r.Epochs {
		var metrics []string
		for _, m := range e.Metrics {
			metrics = append(metrics, fmt.Sprintf("%s %.4f", m.Name, m.Value))
		}
		fmt.Printf("%5d %-44s %9.4fs %9.4fs  %s  %9d %9.2f\n", e.Number, strings.Join(metrics[:min(2, len(metrics))], " "),
			e.Time.Seconds(), e.Trained.Seconds(), shares(&e.Phases), e.Traffic.Frames, float64(e.Traffic.Bytes)/1e6)
	}
	var most linkBytes
	for i := range r.Nodes {
		if l := linkOf(i, &r.Nodes[i]); l.Sent.Bytes+l.Received.Bytes > most.Sent.Bytes+most.Received.Bytes {
			most = l
		}
	}
	fmt.Printf("\nbusiest link: node %d, %.2f MB up and %.2f MB down\n", most.Node, float64(most.Sent.Bytes)/1e6, float64(most.Received.Bytes)/1e6)
	fmt.Printf("reads by the clocks that they missed: %v\n", r.Staleness)
	fmt.Printf("%d commits, row deltas sent %d = applied %d + dropped %d\n", r.Commits, r.Sent, r.Applied, r.Dropped)
	fmt.Printf("%.3f s of virtual time in %.3f s, %.1f times as fast; %d events, hash %016x, kernels %s\n",
		r.Time.Seconds(), wall.Seconds(), r.Time.Seconds()/wall.Seconds(), r.Events, r.Hash, r.Kernels)
}

// shares are the phases in percent of slot-time.
func shares(s *tally.Spent) string {
	percent := func(p tally.Phase) float64 { return 100 * s[p].Seconds() / max(1e-9, s.Total().Seconds()) }
	return fmt.Sprintf("%6.1f%% %4.1f%% %4.1f%% %5.1f%% %4.1f%%", percent(tally.Compute), percent(tally.PullWait), percent(tally.PushWait),
		percent(tally.CommitWait), percent(tally.Idle))
}

func (b *bench) showJSON(r *lab.Result, wall time.Duration) {
	for _, e := range r.Epochs {
		row := epochRow{Epoch: e.Number, Items: e.Items, Metrics: map[string]float64{}, Seconds: e.Time.Seconds(), Trained: e.Trained.Seconds(),
			Phases: phases(&e.Phases), Traffic: flowOf(e.Traffic)}
		for _, m := range e.Metrics {
			row.Metrics[m.Name] = m.Value
		}
		b.Object(row)
	}
	row := resultRow{Seconds: r.Time.Seconds(), Trained: r.Trained.Seconds(), Wall: wall.Seconds(), Hash: strconv.FormatUint(r.Hash, 16),
		Kernels: r.Kernels, Events: r.Events, Commits: uint64(r.Commits), Sent: r.Sent, Applied: r.Applied, Dropped: r.Dropped,
		Staleness: r.Staleness, Phases: phases(&r.Phases)}
	for i := range r.Nodes {
		row.Links = append(row.Links, linkOf(i, &r.Nodes[i]))
	}
	b.Object(row)
}
