// Package visiting is the guests of a schedule, which are nodes that join while its job runs: what each brings, what befalls it on its way, and what it has brought about.
//
// Draw the guests of a life, and tell a Coverage of what comes about with Hit or HitIf. The package refuses to know how a node joins: package join of the core decides that.
package visiting

import (
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// Guest is a node that is to join while the job runs, and what becomes of it.
type Guest struct {
	Millis int64 // after the first tasks have left, when it is asked for
	Early  bool  // or long before: with the beginning of the life
	Slots  int
	Lanes  int
	Start  int64 // its process takes so long until it calls the others
	Fate   Fate
	At     int64 // its fate, after its process has started
	Lost   Turn  // when the controller is lost, if it is
	Splits []bellows.SplitID
	Parts  []bellows.PartitionRef // which it gets, when it takes part
	Stays  int64                  // how long it takes part before it is told to leave; Forever: until the end
}

// Fate is what befalls a guest on its way.
type Fate int

// The fates.
const (
	Sound    Fate = iota // it comes
	Absent               // it never does
	Stranger             // it has made another job
	Mortal               // its process dies
	Unwanted             // nobody waits for it any more
	Slow                 // it stops for a while
	fates
)

func (f Fate) String() string {
	return [fates]string{"sound", "absent", "stranger", "mortal", "unwanted", "slow"}[f]
}

// Turn is when, in the course of an admission, the controller is lost.
type Turn int

// The turns.
const (
	Unturned Turn = iota // it is not
	OnTheWay             // the guest has been invited
	AtReady              // it says that it is ready
	AtWord               // what the controller says of it leaves in part
	AtWork               // it has taken part for a moment
	turnsMost
)

// Forever is a stay that does not end before the job.
const Forever = int64(1 << 20)

// Share is how many lives in a hundred have guests.
const Share = 30

// Draw draws the guests of a life, if it has any: they come one after the other or together, and early, as all that grows does. followed: others follow its controller in any case. It returns how often one follows for their sake.
func Draw(v *rand.Rand, splits int, tables []table.Schema, followed bool) (list []Guest, follows int) {
	if v.IntN(100) >= Share {
		return nil, 0
	}
	at, turns := v.Int64N(60), followed || v.IntN(3) == 0
	for range 1 + v.IntN(4) {
		g := Guest{Millis: at, Early: v.IntN(6) == 0, Slots: v.IntN(3), Lanes: v.IntN(3), Start: v.Int64N(30), Stays: Forever}
		if g.Slots+g.Lanes == 0 {
			g.Slots = 1
		}
		if v.IntN(3) == 0 {
			g.Fate = Fate(v.IntN(int(fates)))
			g.At = v.Int64N(1 << v.IntN(9))
		}
		if turns && v.IntN(2) == 0 {
			if g.Lost = Turn(v.IntN(int(turnsMost) + 4)); g.Lost >= turnsMost { // which others meet seldom
				g.Lost = AtWord
			}
			if g.Lost != Unturned {
				follows++
			}
		}
		g.drawWork(v, splits, tables)
		if v.IntN(2) == 0 {
			g.Stays = v.Int64N(1 << v.IntN(8))
		}
		list = append(list, g)
		if v.IntN(2) == 0 { // else with the one before, or close behind it
			at += v.Int64N(80)
		}
	}
	return list, follows
}

// drawWork draws what a guest gets when it takes part.
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

// Owns reports whether a node has an actor in a route.
func Owns(r *route.Route, n bellows.NodeID) bool {
	return slices.ContainsFunc(slices.Concat(r.Lanes(), r.Clients()), func(a wire.Address) bool { return a.Node == n })
}
