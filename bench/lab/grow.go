package main

import (
	"fmt"
	"maps"
	"strconv"
	"syscall"

	"bellows/core/tally"
	"bellows/sim/lab"
)

// grow trains on 64 and on 1,024 nodes, a split each, on links of 10 Gbit/s.
func (b *bench) grow() {
	f := b.costs(false)
	b.Header("lab: many nodes, %s", b.order.App)
	b.say("%6s %8s %8s %10s %10s %10s %12s %10s %8s  %s", "nodes", "servers", "clocks", "virtual", "wall", "events", "messages", "GB", "RSS MB", "hash")
	for _, nodes := range []int{64, 1024} {
		b.growTo(nodes, f)
	}
}

func (b *bench) growTo(nodes int, f fitted) {
	o := b.order
	const clocks = 4
	o.Settings = map[string]string{"splits": strconv.Itoa(nodes), "clocks": strconv.Itoa(clocks)}
	maps.Copy(o.Settings, b.order.Settings)
	s := site{nodes: nodes, servers: max(1, nodes/16), cores: 1, bandwidth: 10_000, latency: b.site.latency}
	r, wall := trial(o, s.make(f), lab.Config{Seed: b.seed, Costs: f.Costs, Jitter: b.chance})
	passed := len(r.Epochs) * (clocks + 1)
	var sent tally.Flow
	for _, n := range r.Nodes {
		sent.Add(n.Sent.Total())
	}
	b.figures(map[string]any{"nodes": nodes, "servers": s.servers, "clocks": passed, "virtual_seconds": r.Time.Seconds(),
		"wall_seconds": wall.Seconds(), "events": r.Events, "messages": sent.Frames, "bytes": sent.Bytes, "resident_bytes": resident(),
		"hash": fmt.Sprintf("%016x", r.Hash)})
	b.say("%6d %8d %8d %9.3fs %9.3fs %10d %12d %10.3f %8d  %016x", nodes, s.servers, passed, r.Time.Seconds(), wall.Seconds(), r.Events,
		sent.Frames, float64(sent.Bytes)/1e9, resident()>>20, r.Hash)
}

// resident returns the most memory that this process has had, in bytes.
func resident() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Maxrss << 10
}
