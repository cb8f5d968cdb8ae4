// Package schedule draws from a seed what a simulated job is: its nodes and roles, link faults, and which faults are
// injected and when.
//
// New makes the schedule of a seed; DrawLife draws again for the next attempt while the job runs. Later decisions come
// from the same Rng. The package refuses to know how a fault is injected.
package schedule

import (
	"math/rand/v2"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/sim/internal/model"
	"bellows/table"
)

// A Schedule holds what a seed decides before the first event. Later decisions come from the same Rng.
//
// Drive is "running" if a split gets a clock as soon as its last one is committed, "pipelined" if it gets several ahead,
// "strata" if all splits finish a clock before the next. "clocks" and "rounds" are the drivers train.Clocks, which works
// like "running", and train.Rounds, which works like "strata".
type Schedule struct {
	Rng       *rand.Rand
	Job       *model.Job
	NodeCount int // node 0 hosts the controller
	LaneAt    []wire.Address
	ClientAt  []wire.Address
	Surplus   int     // the last clients, so many, begin without splits
	Slots     []int   // per client, the tasks that compute at once
	ReadyAt   []int64 // per node, when it says that it is ready
	Drift     []int64 // per node, of its clock, in thousandths
	Drive     string
	Ahead     int // clocks of a split dispatched at once
	HeldMax   int // bytes

	// Events between strata; never is a clock that does not come.
	KeepFrom bellows.Clock // the first stratum after which the tables are kept
	TurnAt   bellows.Clock // the stratum after which the staleness of counts changes
	TurnTo   table.Consistency

	Streams bool            // connections break only where a fault is injected; else also at random
	Codec   bool            // messages pass through the codec of wire
	Links   [][]LinkProfile // [from][to]
	CalmAt  int64           // from here on no connection breaks at random, and no frame is late
	Linger  int64           // how long node 0 keeps connections after a job that has failed
	Plans   []Plan

	directed, complete bool // Directed has made it
	surplus            bool // some clients begin without splits

	Play // what else the job does
}

// LinkProfile is how a link misbehaves: chances in thousandths per frame, times in milliseconds.
type LinkProfile struct {
	Break, Late   int
	Delay, Jitter int64
	Bandwidth     int64 // bytes in a millisecond; 0: any number
}

// LateMax bounds by how much a late frame is late, in milliseconds.
const LateMax = 200

// LooseSeeds is the first seed of schedules whose splits run ahead: no table makes one wait for another.
const LooseSeeds = 1 << 40

// SurplusSeeds is the first seed of schedules in which some clients begin without splits.
const SurplusSeeds = 1 << 41

// AdvisedSeeds is the first seed of schedules in which the job also chooses its shape itself, by false figures.
const AdvisedSeeds = 1 << 42

// New decides all that a seed decides before the first event.
func New(seed uint64) *Schedule {
	rng := rand.New(rand.NewPCG(seed, 0x62656c6c6f7773))
	s := &Schedule{Rng: rng, Job: model.Jobs[rng.IntN(model.Shapes)](), KeepFrom: Never, TurnAt: Never}
	s.Streams = rng.IntN(2) == 0
	s.Codec = rng.IntN(8) == 0
	s.Drive = []string{"running", "pipelined", "strata", "strata"}[rng.IntN(4)]
	s.Ahead = 1
	s.Play.begin(seed)
	s.Advised = seed >= AdvisedSeeds
	s.surplus = seed >= SurplusSeeds && !s.Advised
	loose := seed >= LooseSeeds && seed < SurplusSeeds
	if loose {
		s.Job, s.Drive = model.Jobs[model.Shapes+rng.IntN(model.LooseShapes)](), "pipelined"
	}
	s.drawShape(loose)
	if s.Drive == "pipelined" {
		s.Ahead = 2 + rng.IntN(3)
	}
	s.drawDrive()
	if s.divides && s.Job.Splits <= model.SplitsDivided {
		s.Job = model.Divided[s.Job.Shape]()
	}
	strata := s.Drive == "strata" || s.Drive == "rounds"
	if strata && rng.IntN(4) > 0 {
		s.KeepFrom = bellows.Clock(rng.IntN(s.Job.Clocks))
	}
	if strata && rng.IntN(2) == 0 {
		s.TurnAt = bellows.Clock(rng.IntN([]int{3, s.Job.Clocks - 1}[rng.IntN(2)]))
		s.TurnTo = []table.Consistency{table.BSP, table.BSP, table.SSP(1), table.SSP(2), table.Async}[rng.IntN(5)]
	}
	s.DrawLife()
	return s
}

// DrawLife decides where the job runs, from its beginning or from an image, and what befalls it there.
func (s *Schedule) DrawLife() {
	s.drawTopology()
	s.HeldMax = 0
	if s.Rng.IntN(2) == 0 {
		s.HeldMax = 64 << s.Rng.IntN(6)
	}
	s.Linger = 0
	if s.Rng.IntN(3) == 0 {
		s.Linger = s.Rng.Int64N(4000)
	}
	s.drawLinks()
	s.Plans = nil
	s.drawPlans()
	s.drawPlay()
	if s.directed {
		s.direct()
	}
}

// Never is a clock, or a time, that does not come.
const Never bellows.Clock = 1 << 20

// Bound returns the staleness of a table for a task of a clock.
func (s *Schedule) Bound(t bellows.TableID, c bellows.Clock) table.Consistency {
	if t == model.Counts && c > s.TurnAt {
		return s.TurnTo
	}
	return s.Job.Schemas[t].Consistency
}

// DriftMax is by how much a clock may be wrong, in thousandths: far more than real ones are.
const DriftMax = 50

// drawTopology gives 2 or 3 nodes one or two lanes each, and 3 or 4 nodes, the same or others, a client.
func (s *Schedule) drawTopology() {
	s.NodeCount = 4 + s.Rng.IntN(3)
	s.LaneAt, s.ClientAt, s.Slots, s.ReadyAt, s.Drift = nil, nil, nil, nil, nil
	for range s.NodeCount {
		at := s.Rng.Int64N(30)
		if s.Rng.IntN(40) == 0 {
			at = s.Rng.Int64N(2 * LeaseMillis)
		}
		s.ReadyAt = append(s.ReadyAt, at)
		s.Drift = append(s.Drift, s.Rng.Int64N(2*DriftMax+1)-DriftMax)
	}
	for _, n := range s.Rng.Perm(s.NodeCount)[:2+s.Rng.IntN(2)] {
		for i := range 1 + s.Rng.IntN(2) {
			s.LaneAt = append(s.LaneAt, wire.LaneAt(bellows.NodeID(n), i))
		}
	}
	var nodes []bellows.NodeID
	for _, n := range s.Rng.Perm(s.NodeCount)[:3+s.Rng.IntN(2)] {
		nodes = append(nodes, bellows.NodeID(n))
		s.Slots = append(s.Slots, 1+s.Rng.IntN(3))
	}
	s.ClientAt = route.Clients(nodes)
	if s.surplus {
		s.Surplus = 1 + s.Rng.IntN(len(nodes)-1)
	}
}

// FirstRoute returns the route with which a life begins. The last clients may have no splits.
func (s *Schedule) FirstRoute() *route.Route {
	var nodes []bellows.NodeID
	for _, a := range s.ClientAt {
		nodes = append(nodes, a.Node)
	}
	holders := len(nodes) - s.Surplus
	first := route.Spread(s.Job.Schemas, s.Job.Splits, s.LaneAt, nodes[:holders])
	whole := first.Whole()
	for _, n := range nodes[holders:] {
		whole = append(whole, first.AddClient(n))
	}
	all, err := first.Rebuilt(first.Version(), whole)
	if err != nil {
		panic(err)
	}
	return all
}

// drawLinks makes every link of its own kind, from none of a fault to much of it.
func (s *Schedule) drawLinks() {
	s.Links, s.CalmAt = nil, int64(Never)
	if s.Rng.IntN(2) == 0 {
		s.CalmAt = s.Rng.Int64N(2000)
	}
	worst := LinkProfile{Late: s.upTo(60), Delay: 1, Jitter: int64(s.upTo(15))}
	if !s.Streams {
		worst.Break = s.upTo(20)
	}
	if s.Rng.IntN(4) == 0 {
		worst.Bandwidth = int64(20 << s.Rng.IntN(5))
	}
	for range s.NodeCount {
		row := make([]LinkProfile, s.NodeCount)
		for to := range row {
			row[to] = LinkProfile{Break: s.upTo(worst.Break), Late: s.upTo(worst.Late), Delay: 1 + s.Rng.Int64N(4), Jitter: int64(s.upTo(int(worst.Jitter))),
				Bandwidth: worst.Bandwidth * (1 + s.Rng.Int64N(4))}
		}
		s.Links = append(s.Links, row)
	}
}

// upTo returns 0 one time in four, else anything up to the most.
func (s *Schedule) upTo(most int) int {
	if most == 0 || s.Rng.IntN(4) == 0 {
		return 0
	}
	return 1 + s.Rng.IntN(most)
}

// Chance draws true so many times in a thousand.
func (s *Schedule) Chance(thousandths int) bool {
	return thousandths > 0 && s.Rng.IntN(1000) < thousandths
}
