package wire

import (
	"fmt"
	"runtime"

	"bellows/bench/internal/pair"
	"bellows/bench/protocol/internal/wire/internal/duty"
)

// turnBytes and turnRequests make turns of some tenths of a second.
const (
	turnBytes    = 1 << 30
	turnRequests = 100_000
	turnTrips    = 10_000
	tailTurns    = 9 // at least: a pause of the machine is in the tail of a turn, or not
)

// scale returns twice the work for the full form.
func (b *bench) scale(n int) int {
	if b.Full {
		return 2 * n
	}
	return n
}

// large shows CPU time per GB.
func (b *bench) large() {
	b.Section(fmt.Sprintf("CPU time of both processes, %d requests in flight", largeWindow))
	for _, kind := range []string{"push", "pull"} {
		for _, size := range []int{64 << 10, 1 << 20} {
			b.perByte(duty.Duty{Kind: kind, Size: size, Window: largeWindow, Count: b.scale(turnBytes / size)})
		}
	}
}

// perByte compares one kind and size with the plain loop and gRPC.
func (b *bench) perByte(d duty.Duty) {
	work := float64(d.Size) / 1e9
	sides := []pair.Side{b.ours.side(d, work), b.plain.side(d, work)}
	targets := []float64{0, plainLeast, grpcLeast}
	if b.grpc != nil {
		sides = append(sides, b.grpc.side(d, work))
	}
	series := b.Interleave(sides...)
	name := d.Kind + " of " + tables[pair.Must(tableOf(d))].Name
	for i, peer := range series[1:] {
		b.Add(pair.Row{Figure: name, Unit: "s/GB", Cost: true, Clock: pair.CPU, Ours: series[0], Peer: peer, Target: targets[i+1]})
	}
	b.noAllocations(name)
}

// noAllocations holds ours to none in the steady state: in the last turn, since the first fill the pools.
func (b *bench) noAllocations(name string) {
	last := b.ours.allocations[len(b.ours.allocations)-1]
	b.AddFact(pair.Fact{Figure: name + ", allocations", Unit: "a request", Ours: last, Peer: "limit", Bound: allocsMost, Exact: true})
}

// small shows requests per second.
func (b *bench) small() {
	b.Section(fmt.Sprintf("1 KiB, %d requests in flight over one connection", smallWindow))
	for _, row := range []struct {
		kind, name, command string
		pslite              bool
	}{
		{"push", "push", "set", true},
		{"pull", "pull", "get", true},
		{"list", "pull of 16 listed rows", "get", false},
	} {
		d := duty.Duty{Kind: row.kind, Size: 1 << 10, Window: smallWindow, Count: b.scale(turnRequests)}
		sides := []pair.Side{b.ours.side(d, 1)}
		if b.redis != nil {
			sides = append(sides, b.redis.side(row.command, 1, smallWindow, 2*d.Count), b.redis.side(row.command, 16, smallWindow/16, 2*d.Count))
		}
		series := b.Interleave(sides...)
		r := pair.Row{Figure: row.name, Unit: "requests/s", Clock: pair.Wall, Ours: series[0], Target: redisLeast}
		if b.redis != nil {
			r.Peer = pair.Fastest(series[1:], pair.Wall)
		}
		b.Add(r)
		b.noAllocations(row.name)
		if row.pslite {
			b.AddFact(pair.Fact{Figure: row.name, Unit: "requests/s", Ours: series[0].Rates(pair.Wall).Median,
				Peer: fmt.Sprintf("%d x recorded ps-lite", psliteMany), Bound: psliteMany * psliteRate, Least: true})
		}
	}
}

// trips shows how long one request takes, alone and while all processors compute.
func (b *bench) trips() {
	b.Section("round trip of 1 KiB, one request at a time")
	d := duty.Duty{Kind: "pull", Size: 1 << 10, Window: 1, Count: b.scale(turnTrips)}
	sides := []pair.Side{b.ours.side(d, 1)}
	if b.redis != nil {
		sides = append(sides, b.redis.side("get", 1, 1, d.Count))
	}
	series := b.Race(pair.Row{Figure: "pull", Unit: "s", Cost: true, Clock: pair.Wall, Target: tripLeast}, sides...)
	trip := series[0].Costs(pair.Wall).Median
	cores := runtime.NumCPU()
	b.tail("99th percentile, each core computes", d, max(1, cores/2), trip)
	b.tail("99th percentile, each core computes twice", d, cores, trip)
}

// tail shows the 99th percentile while both processes compute with so many goroutines each.
func (b *bench) tail(name string, d duty.Duty, each int, trip float64) {
	b.ours.compute(each)
	var tails []float64
	side := b.ours.side(d, 1)
	for range max(b.Turns, tailTurns) {
		side.Run()
		tails = append(tails, b.ours.p99.Seconds())
	}
	b.AddFact(pair.Fact{Figure: name, Unit: "s", Ours: pair.SpreadOf(tails).Median, Peer: fmt.Sprintf("%d round trips", tailMost), Bound: tailMost * trip})
	b.ours.compute(0)
}
