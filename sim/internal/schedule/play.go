package schedule

import (
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/core/client"
	"bellows/core/coord"
	"bellows/core/server"
	"bellows/link/traffic"
	"bellows/sim/internal/model"
	"bellows/vec"
)

// Play is the optional part of a schedule: what a job does besides the common work, and within which limits. It draws
// from random streams of its own. A larger Play thus changes no other decision of a seed, and the seeds in the ledger
// of bugs still show what they showed.
type Play struct {
	Chances     *rand.Rand
	Prefetches  int          // chance of a task to ask for rows ahead, in thousandths
	Formats     []vec.Format // how values travel in the codec, by table; all that do so in 16 bits are exact in them
	Endless     Endless
	Loss        Loss
	losses      *rand.Rand     // decides Loss alone
	divides     bool           // the job's clocks are divided into units
	KeySeed     uint64         // of the lanes' indexes of keys
	Growth      []Entry        // actors that join later
	growing     *rand.Rand     // decides Growth: a stream for it alone
	Connections int            // of every two nodes
	further     *rand.Rand     // decides Connections
	leaving     *rand.Rand     // decides which actors leave
	forms       *rand.Rand     // decides which partitions are large for package delta
	Mirrors     int            // mirrors of the partitions' logs read after about so many changes; 0: none
	mirroring   *rand.Rand     // decides Mirrors, and what logs keep
	Shifts      []Shift        // partitions that move
	Meddle      int            // chance of a step of a move to have something befall it, in thousandths
	moving      *rand.Rand     // decides Shifts
	Guests      []Guest        // nodes that join
	Visiting    *rand.Rand     // decides Guests
	Ranks       *traffic.Ranks // of the classes of messages; nil: the default ones
	ranking     *rand.Rand     // decides Ranks
	Reshapes    []Reshape      // changes of the job's shape
	Shaping     *rand.Rand     // decides Reshapes, and when they are carried out
	Advised     bool           // the job also chooses its shape itself
	Advising    *rand.Rand     // decides by which figures, and when
	Cuts        int            // chance of a tick to begin a cut of the job, in hundredths
	LoseAll     bool           // all nodes are lost at once when there is one
	Cutting     *rand.Rand     // decides Cuts, and how they are taken
	Failovers   int            // how often the controller is to be followed by another
	Closing     []int64        // by node, how long its tasks and executors take to end when the job is over; Never: they do not
	Unready     bellows.NodeID // never says that it is ready; 0: they all do
	Limits      struct {
		Client client.Limits
		Lane   server.Limits
		Coord  coord.Limits
	}
}

// Endless is a task that ends only when the driver asks it to, when the job is interrupted or loses a node, or after
// Millis. If Millis is Never, the task continues until the job ends because of it.
type Endless struct {
	Split  bellows.SplitID
	Clock  bellows.Clock // Never: no such task
	Millis int64
}

// divided is the percentage of schedules whose clocks are divided into units.
const divided = 23

func (p *Play) begin(seed uint64) {
	p.Chances, p.losses = rand.New(rand.NewPCG(seed, 0x706c6179)), rand.New(rand.NewPCG(seed, 0x6c6f7373))
	p.divides = rand.New(rand.NewPCG(seed, 0x756e6974)).IntN(100) < divided
	p.leaving = rand.New(rand.NewPCG(seed, 0x6c656176))
	p.ranking = rand.New(rand.NewPCG(seed, 0x72616e6b))
	p.growing, p.further = rand.New(rand.NewPCG(seed, 0x67726f77)), rand.New(rand.NewPCG(seed, 0x77697265))
	p.forms = rand.New(rand.NewPCG(seed, 0x666f726d))
	p.mirroring = rand.New(rand.NewPCG(seed, 0x6d697272))
	p.moving = rand.New(rand.NewPCG(seed, 0x6d6f7665))
	p.Cutting = rand.New(rand.NewPCG(seed, 0x637574))
	p.Visiting = rand.New(rand.NewPCG(seed, 0x67756573))
	p.Shaping, p.Advising = shapes(seed), rand.New(rand.NewPCG(seed, 0x616476697365))
}

// drawLoss drops a message in some attempts; in others a node never gets ready.
func (s *Schedule) drawLoss() {
	if s.Unready = 0; s.losses.IntN(50) == 0 {
		s.Unready = bellows.NodeID(1 + s.losses.IntN(s.NodeCount-1))
	}
	s.Loss = Loss{Skip: -1}
	if s.losses.IntN(40) == 0 {
		s.Loss = Loss{of: losable[s.losses.IntN(len(losable))], Skip: s.losses.IntN(1 << s.losses.IntN(8))}
	}
}

// drawShape makes some jobs wide or long. Where splits are to run ahead, they are long more often.
func (s *Schedule) drawShape(loose bool) {
	first, n := model.Shapes+model.LooseShapes, model.WideShapes
	switch at := s.Chances.IntN(40); {
	case at < 1 || loose && at < 8:
		first, n = first+n, model.LongShapes
		s.Drive = "pipelined"
	case at >= 3 || loose:
		return
	}
	s.Job = model.Jobs[first+s.Chances.IntN(n)]()
}

// drawDrive gives some jobs the drivers of package train, and lets independent splits run far ahead.
func (s *Schedule) drawDrive() {
	own := s.Chances.IntN(2) == 0
	switch {
	case s.Job.Brief && (own || s.Chances.IntN(2) == 0):
		s.Ahead = s.Job.Clocks - s.Chances.IntN(4)
	case s.Job.Loose && own:
		s.Ahead = 5 + s.Chances.IntN(16)
	case s.Drive == "running" && own:
		s.Drive = "clocks"
	case s.Drive == "strata" && own:
		s.Drive = "rounds"
	}
}

// drawPlay decides what an attempt of the job does besides the common work, and within which limits.
func (s *Schedule) drawPlay() {
	s.Connections = []int{1, 1, 1, 1, 1, 1, 2, 3}[s.further.IntN(8)] // with one, most is overtaken
	s.Prefetches = 0
	if s.Chances.IntN(3) == 0 {
		s.Prefetches = 50 + s.Chances.IntN(400)
	}
	s.KeySeed = s.Chances.Uint64()
	s.Closing = make([]int64, s.NodeCount)
	if s.Chances.IntN(8) == 0 {
		s.Closing[s.Chances.IntN(s.NodeCount)] = s.Chances.Int64N(7000)
	}
	if s.further.IntN(12) == 0 {
		s.Closing[s.ClientAt[s.further.IntN(len(s.ClientAt))].Node] = int64(Never)
	}
	s.drawFormats()
	s.Endless = Endless{Clock: Never}
	if s.Chances.IntN(4) == 0 {
		s.Endless = Endless{bellows.SplitID(s.Chances.IntN(s.Job.Splits)), bellows.Clock(s.Chances.IntN(s.Job.Clocks / 2)), 1000 + s.Chances.Int64N(5000)}
		if s.Chances.IntN(4) == 0 {
			s.Endless.Millis = int64(Never)
		}
	}
	s.drawLimits()
	s.drawLoss()
	s.drawGrowth()
	s.drawMoves()
	s.drawFailovers()
	s.drawCuts()
	s.drawLeaving()
	s.drawGuests()
	s.drawRanks()
	s.drawReshapes()
}

// drawFailovers replaces the controller in a third of the attempts. In some of them lanes keep little of the log, from
// which a new controller recovers.
func (s *Schedule) drawFailovers() {
	s.Failovers, s.Limits.Lane.Tail = 0, 0
	if s.Loss.Skip >= 0 || len(s.Growth) > 0 && s.growing.IntN(2) > 0 || s.Chances.IntN(3) > 0 { // a loss ends the job
		return
	}
	s.Failovers = 1 + s.Chances.IntN(3)
	for i := range s.Growth {
		s.Growth[i].Broken = s.growing.IntN(4) == 0
	}
	if s.Chances.IntN(4) == 0 {
		s.Limits.Lane.Tail = 1 << (5 + s.Chances.IntN(6))
		s.Limits.Coord.Tail = s.Limits.Lane.Tail
	}
	stages := [...]Stage{PullParked, PushUnderWay, FlushHeld, DoneUnderWay, RecordUnderWay, LeaseHeld, Joining, TheEnd, Collecting, FlushHeld}
	for range s.Failovers {
		node := s.ClientAt[s.Chances.IntN(len(s.ClientAt))].Node
		p, skip := stages[s.Chances.IntN(len(stages))], s.Chances.IntN(1<<s.Chances.IntN(9))
		if p == TheEnd || p == Collecting {
			skip %= 8
		}
		s.Plans = append(s.Plans, Plan{"failover", node, p, skip})
	}
}

// drawCuts takes cuts in a quarter of the attempts. Some of these then lose all nodes; in some there is little memory
// for what changes during a cut.
func (s *Schedule) drawCuts() {
	s.Cuts, s.LoseAll, s.Limits.Lane.Copies = 0, false, 0
	if s.Cutting.IntN(4) > 0 {
		return
	}
	s.Cuts, s.LoseAll = 5+s.Cutting.IntN(60), s.Cutting.IntN(7) == 0
	if slices.ContainsFunc(s.Plans, func(p Plan) bool { return p.Stage == Collecting }) { // to which a job that loses all hardly comes
		s.LoseAll = false
	}
	if s.Cutting.IntN(12) == 0 {
		s.Limits.Lane.Copies = 1 << (5 + s.Cutting.IntN(6))
	}
}

// drawRanks gives the classes of messages other ranks in some attempts: migration waits for the rest, or all classes
// have random ranks.
func (s *Schedule) drawRanks() {
	s.Ranks = nil
	if s.ranking.IntN(8) > 0 {
		return
	}
	r := traffic.Default
	r[traffic.Migration] = 2
	if s.ranking.IntN(2) == 0 {
		for c := traffic.Flushes; int(c) < traffic.Classes; c++ {
			r[c] = uint8(1 + s.ranking.IntN(3))
		}
	}
	s.Ranks = &r
}

// drawFormats lets the columns of free and of words travel in 16 bits: they are small whole numbers.
func (s *Schedule) drawFormats() {
	s.Formats = make([]vec.Format, model.Tables)
	if s.Chances.IntN(2) == 0 {
		return
	}
	s.Formats[model.Free] = vec.Float16
	if s.Job.Clocks*model.AmountMax <= 256 && s.Chances.IntN(2) == 0 {
		s.Formats[model.Free] = vec.BFloat16
	}
	if s.Chances.IntN(2) == 0 {
		s.Formats[model.Words] = vec.Float16
	}
}

// drawLimits makes each limit small in a quarter of the attempts.
func (s *Schedule) drawLimits() {
	small := func(doublings int) int {
		if s.Chances.IntN(4) > 0 {
			return 0
		}
		return 1 + s.Chances.IntN(1<<s.Chances.IntN(doublings+1))
	}
	l := &s.Limits
	l.Client = client.Limits{Retained: small(5), Unread: small(2), DeferrableValues: small(9), Subscribed: small(4)}
	l.Lane = server.Limits{RelayWords: small(9), Commitments: small(2), Unread: small(9), Digits: small(2), Slab: small(5)}
	l.Coord = coord.Limits{Records: small(4)}
	if small(0) > 0 {
		l.Lane.Parked = 24 * s.Job.Splits // no sound job comes so far
	}
	l.Client.LeasedValues = l.Client.DeferrableValues
	if s.Mirrors = 0; s.mirroring.IntN(8) == 0 {
		s.Mirrors = 1 + s.mirroring.IntN(16)
	}
	if s.mirroring.IntN(2) == 0 {
		l.Lane.Log = 1 << (9 + s.mirroring.IntN(6))
	}
	if s.forms.IntN(2) == 0 { // so that partitions of a few rows are large
		l.Lane.Direct = 1 << s.forms.IntN(5)
	}
}
