package schedule

import (
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/table"
)

// Guest is a node that is to join while the job runs, and its fate.
type Guest struct {
	Millis int64 // after the first tasks have left, when it is asked for
	Early  bool  // or long before: with the beginning of the attempt
	Slots  int
	Lanes  int
	Start  int64  // its process takes so long until it calls the others
	Fate   string // one of Fates
	At     int64  // its fate, after its process has started
	Lost   string // when the controller is lost, one of turns
	Splits []bellows.SplitID
	Parts  []bellows.PartitionRef // which it gets, when it takes part
	Stays  int64                  // how long it takes part before it is asked to leave; Forever: until the end
}

// Fates are the possible fates of a joining node: it comes, never comes, has made another job, its process dies, it is
// no longer wanted, or it stops for a while.
var Fates = [...]string{"sound", "absent", "stranger", "mortal", "unwanted", "slow"}

// turns are the moments of an admission when the controller may be lost: never, when the node has been invited, when it
// reports that it is ready, when part of the controller's messages about it have left, when it has taken part for a
// moment.
var turns = [...]string{"", "on the way", "at ready", "at word", "at work"}

// Forever is a stay that does not end before the job.
const Forever = int64(1 << 20)

// visited is the percentage of attempts in which nodes join.
const visited = 30

// drawGuests lets nodes join in some attempts: one after the other or together, and early, like all growth.
func (s *Schedule) drawGuests() {
	s.Guests = nil
	v := s.Visiting
	if s.Loss.Skip >= 0 || v.IntN(100) >= visited { // a loss ends the job
		return
	}
	at, followed := v.Int64N(60), s.Failovers > 0 || v.IntN(3) == 0
	for range 1 + v.IntN(4) {
		g := Guest{Millis: at, Early: v.IntN(6) == 0, Slots: v.IntN(3), Lanes: v.IntN(3), Start: v.Int64N(30), Stays: Forever, Fate: "sound"}
		if g.Slots+g.Lanes == 0 {
			g.Slots = 1
		}
		if v.IntN(3) == 0 {
			g.Fate = Fates[v.IntN(len(Fates))]
			g.At = v.Int64N(1 << v.IntN(9))
		}
		if followed && v.IntN(2) == 0 {
			g.Lost = "at word" // a moment that is rare otherwise
			if i := v.IntN(len(turns) + 4); i < len(turns) {
				g.Lost = turns[i]
			}
			if g.Lost != "" {
				s.Failovers++
			}
		}
		g.drawWork(v, s.Job.Splits, s.Job.Schemas)
		if v.IntN(2) == 0 {
			g.Stays = v.Int64N(1 << v.IntN(8))
		}
		s.Guests = append(s.Guests, g)
		if v.IntN(2) == 0 { // else together with the previous one, or soon after it
			at += v.Int64N(80)
		}
	}
}

// drawWork draws what a joining node gets when it takes part.
func (g *Guest) drawWork(v *rand.Rand, splits int, tables []table.Schema) {
	if g.Slots > 0 {
		for range v.IntN(4) {
			g.Splits = append(g.Splits, bellows.SplitID(v.IntN(splits)))
		}
	}
	if g.Lanes > 0 {
		for range v.IntN(5) {
			t := bellows.TableID(v.IntN(len(tables)))
			cut := tables[t].Cut()
			g.Parts = append(g.Parts, bellows.PartitionRef{Table: t, Partition: bellows.PartitionID(v.IntN(cut.Len()))})
		}
	}
}

// AddNode draws what there is of one more node, and returns its number.
func (s *Schedule) AddNode() bellows.NodeID {
	v, n := s.Visiting, len(s.Drift)
	s.Drift = append(s.Drift, v.Int64N(2*DriftMax+1)-DriftMax)
	s.ReadyAt, s.Closing = append(s.ReadyAt, 0), append(s.Closing, 0)
	if v.IntN(12) == 0 {
		s.Closing[n] = v.Int64N(3000)
	}
	for i := range s.Links {
		s.Links[i] = append(s.Links[i], s.Links[i][v.IntN(n)])
	}
	s.Links = append(s.Links, slices.Clone(s.Links[v.IntN(n)]))
	return bellows.NodeID(n)
}
