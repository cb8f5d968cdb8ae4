package sim

import (
	"math/rand/v2"

	"bellows"
	"bellows/table"
	"bellows/wire"
)

// schedule is what a seed decides before the first event. What it decides later comes from the same rng.
type schedule struct {
	rng       *rand.Rand
	job       *job
	nodeCount int // node 0 hosts the controller
	laneAt    []wire.Address
	clientAt  []wire.Address
	readyAt   []int64 // per node, when it says that it is ready
	drift     []int64 // per node, of its clock, in thousandths
	drive     dispatching
	ahead     int // clocks of a split dispatched at once
	heldMax   int // bytes

	// What happens between strata; never is a clock that does not come.
	keepFrom bellows.Clock // the first stratum after which the tables are kept
	turnAt   bellows.Clock // the stratum after which the staleness of counts changes
	turnTo   table.Consistency

	streams bool        // connections that lose nothing until they end; else packets that are lost
	codec   bool        // messages pass through the codec of wire
	weather [][]weather // [from][to]
	calmAt  int64       // from here on no packet is lost, repeated or late
	linger  int64       // how long node 0 keeps connections after a job that has failed
	plans   []plan
}

// weather is how a link misbehaves: chances in thousandths per packet, times in milliseconds.
type weather struct {
	drop, duplicate, late int
	delay, jitter         int64
}

// lateMax bounds by how much a late packet is late, in milliseconds.
const lateMax = 200

func newSchedule(seed uint64) *schedule {
	rng := rand.New(rand.NewPCG(seed, 0x62656c6c6f7773))
	s := &schedule{rng: rng, job: jobs[rng.IntN(shapes)](), keepFrom: never, turnAt: never}
	s.streams = rng.IntN(2) == 0
	s.codec = rng.IntN(8) == 0
	s.drive = []dispatching{running, pipelined, strata, strata}[rng.IntN(4)]
	s.ahead = 1
	if s.drive == pipelined {
		s.ahead = 2 + rng.IntN(3)
	}
	if s.drive == strata && rng.IntN(4) > 0 {
		s.keepFrom = bellows.Clock(rng.IntN(s.job.clocks))
	}
	if s.drive == strata && rng.IntN(2) == 0 {
		s.turnAt = bellows.Clock(rng.IntN(s.job.clocks - 1))
		s.turnTo = []table.Consistency{table.BSP, table.SSP(1), table.SSP(2), table.Async}[rng.IntN(4)]
	}
	s.drawLife()
	return s
}

// drawLife decides where the job runs, from its beginning or from an image, and what befalls it there.
func (s *schedule) drawLife() {
	s.drawTopology()
	s.heldMax = 0
	if s.rng.IntN(2) == 0 {
		s.heldMax = 64 << s.rng.IntN(6)
	}
	s.linger = 0
	if s.rng.IntN(3) == 0 {
		s.linger = s.rng.Int64N(4000)
	}
	s.drawWeather()
	s.plans = nil
	s.drawPlans()
}

const never bellows.Clock = 1 << 20

// bound is the staleness of a table for a task of a clock.
func (s *schedule) bound(t bellows.TableID, c bellows.Clock) table.Consistency {
	if t == counts && c > s.turnAt {
		return s.turnTo
	}
	return s.job.schemas[t].Consistency
}

// driftMax is by how much a clock may be wrong, in thousandths: far more than real ones are.
const driftMax = 50

// drawTopology gives 2 or 3 nodes one or two lanes each, and 3 or 4 nodes, the same or others, a client.
func (s *schedule) drawTopology() {
	s.nodeCount = 4 + s.rng.IntN(3)
	s.laneAt, s.clientAt, s.readyAt, s.drift = nil, nil, nil, nil
	for range s.nodeCount {
		at := s.rng.Int64N(30)
		if s.rng.IntN(40) == 0 {
			at = s.rng.Int64N(2 * leaseMillis)
		}
		s.readyAt = append(s.readyAt, at)
		s.drift = append(s.drift, s.rng.Int64N(2*driftMax+1)-driftMax)
	}
	for _, n := range s.rng.Perm(s.nodeCount)[:2+s.rng.IntN(2)] {
		for i := range 1 + s.rng.IntN(2) {
			s.laneAt = append(s.laneAt, wire.Address{Node: bellows.NodeID(n), Role: wire.Lane, Index: uint16(i)})
		}
	}
	for _, n := range s.rng.Perm(s.nodeCount)[:3+s.rng.IntN(2)] {
		s.clientAt = append(s.clientAt, wire.Address{Node: bellows.NodeID(n), Role: wire.Client})
	}
}

// drawWeather makes every link of its own kind, from none of a fault to much of it.
func (s *schedule) drawWeather() {
	s.weather, s.calmAt = nil, int64(never)
	if s.rng.IntN(2) == 0 {
		s.calmAt = s.rng.Int64N(2000)
	}
	worst := weather{drop: s.upTo(250), duplicate: s.upTo(200), late: s.upTo(60), delay: 1, jitter: int64(s.upTo(15))}
	for range s.nodeCount {
		row := make([]weather, s.nodeCount)
		for to := range row {
			row[to] = weather{drop: s.upTo(worst.drop), duplicate: s.upTo(worst.duplicate), late: s.upTo(worst.late),
				delay: 1 + s.rng.Int64N(4), jitter: int64(s.upTo(int(worst.jitter)))}
		}
		s.weather = append(s.weather, row)
	}
}

// upTo is 0 one time in four, else anything up to the most.
func (s *schedule) upTo(most int) int {
	if most == 0 || s.rng.IntN(4) == 0 {
		return 0
	}
	return 1 + s.rng.IntN(most)
}

// chance is true so many times in a thousand.
func (s *schedule) chance(thousandths int) bool {
	return thousandths > 0 && s.rng.IntN(1000) < thousandths
}
