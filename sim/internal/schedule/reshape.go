package schedule

import (
	"math/rand/v2"
	"slices"

	"bellows/policy/reshape"
)

// Reshape is a change of the job's shape that is asked for while it runs.
type Reshape struct {
	Millis  int64  // after the first tasks have left
	What    string // one of asks
	Node    int    // of drain and switch: of the nodes that there are then, but node 0
	Workers int    // of scale: more than there are then, or fewer
	Servers int
	Role    reshape.Role // of switch
	Notice  int64        // of drain, in milliseconds; 0: none
}

// asks name what may be asked: a node leaves, there are more nodes or fewer, or a node gets another role.
var asks = [...]string{"drain", "scale", "switch"}

// reshaped is the percentage of jobs that change their shape by a plan.
const reshaped = 14

// drawReshapes asks for other shapes of some jobs: one after the other, or the next while the last is under way.
func (s *Schedule) drawReshapes() {
	s.Reshapes = nil
	if s.Loss.Skip >= 0 || !s.Advised && s.Shaping.IntN(100) >= reshaped { // for a loss the job ends
		return
	}
	at := s.Shaping.Int64N(60)
	for range 1 + s.Shaping.IntN(4) {
		r := Reshape{Millis: at, What: asks[s.Shaping.IntN(len(asks))], Node: s.Shaping.IntN(8), Workers: s.Shaping.IntN(4) - 1, Servers: s.Shaping.IntN(3) - 1,
			Role: []reshape.Role{reshape.Worker, reshape.Server, reshape.Both}[s.Shaping.IntN(3)]}
		if s.Shaping.IntN(3) == 0 {
			r.Notice = 1 + s.Shaping.Int64N(1<<s.Shaping.IntN(11))
		}
		s.Reshapes = append(s.Reshapes, r)
		at += s.Shaping.Int64N(2) * s.Shaping.Int64N(120)
	}
	// Only plans empty nodes then: the machine would move back whatever an operator moves away.
	s.Growth = slices.DeleteFunc(s.Growth, func(e Entry) bool { return e.Leaves })
	for i := range s.Guests {
		s.Guests[i].Stays = Forever
	}
}

// shapes makes the stream of chance that decides on shapes.
func shapes(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x7368617065)) }
