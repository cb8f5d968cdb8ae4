package schedule

import "bellows"

// Fault is a kind of thing that goes wrong.
type Fault int

// The faults. Those from kill on end the job; the others must not show.
const (
	Break     Fault = iota // a connection breaks by itself, as it does again and again on a breaking network
	Late                   // a frame takes much longer than others, and those behind it with it
	Cut                    // a link carries nothing for a while, in one direction
	Reset                  // a connection breaks, with all that is under way; it is made again
	Pause                  // a node stops, for less than the others wait for it, and goes on as if nothing had happened
	Replay                 // an actor gets a message again, or one of an older generation, from a node of the past
	Kill                   // a task ends in an error
	Crash                  // a node stops for good: its process dies, or its host vanishes
	Stop                   // a node stops for longer than the others wait for it, and wakes
	Mute                   // a node is not heard by node 0 for more than a lease, and comes back
	HalfOpen               // a link loses everything from now on, in one direction
	Sever                  // a connection breaks, and none is made again
	Garble                 // a frame is damaged on its way
	Forge                  // the controller gets a Done again, or one of an older generation; or a piece of the state that cannot be
	Interrupt              // the user wants out; the job goes on later, from its image
	Invade                 // a node says what no sound one would: nothing may panic for it, and there the schedule ends
	Failover               // the controller is gone with all that it knows, and another follows it
	FaultKinds
)

var faultNames = [FaultKinds]string{"break", "late", "cut", "reset", "pause", "replay", "kill", "crash", "stop",
	"mute", "half-open", "sever", "garble", "forge", "interrupt", "invade", "failover"}

func (f Fault) String() string { return faultNames[f] }

// Family is faults of one kind of thing.
type Family int

// The families.
const (
	OfConnections Family = iota
	OfNodes
	OfMessages // what comes again, damaged, or of nobody
	OfTasks    // and of users
	Families
)

func (f Family) String() string {
	return [Families]string{"connections", "nodes", "messages", "tasks and users"}[f]
}

// Family is what a fault concerns.
func (f Fault) Family() Family {
	switch f {
	case Pause, Crash, Stop, Mute:
		return OfNodes
	case Replay, Garble, Forge, Invade:
		return OfMessages
	case Kill, Interrupt:
		return OfTasks
	}
	return OfConnections
}

// Possible reports whether a fault can be injected in a stage of a job at all.
func Possible(f Fault, p Stage) bool {
	switch p {
	case Joining: // nothing has run yet
		return f != Kill && f != Replay && f != Forge
	case Collecting: // nothing runs any more
		return f != Kill && f != Replay && f != Interrupt
	}
	return true
}

// Plan is a fault to come: when a node has been in a stage for some events.
type Plan struct {
	Fault Fault
	Node  bellows.NodeID // whose work is in the stage
	Stage Stage
	Skip  int
}

// Stage is a state of the protocol in which a fault may be injected at a node.
type Stage int

// The stages, each seen from the client whose work it is.
const (
	PullParked     Stage = iota // a lane keeps a read waiting
	PushUnderWay                // a part of a flush is between client and lane
	FlushHeld                   // a lane holds a part that is not recorded
	DoneUnderWay                // the client has told the controller, which does not know it yet
	RecordUnderWay              // the controller has recorded a flush and a lane does not know it
	LeaseHeld                   // a task has a lease
	TheEnd                      // the controller has said that the job is over, and not everybody has answered
	Collecting                  // the state is on its way to node 0
	Joining                     // not all nodes are ready
	Stages
)

var stageNames = [Stages]string{"pull parked", "push under way", "flush held", "done under way", "record under way", "lease held", "ending",
	"collecting", "joining"}

func (p Stage) String() string { return stageNames[p] }

// drawPlans plans one to three faults that must not show. A fifth of the schedules has no others: the job must finish,
// though some are interrupted before.
// Else there is one that ends the job, with perhaps another at its beginning or its end; or one that is injected before it
// begins, or while its state is collected.
func (s *Schedule) drawPlans() {
	harmless := []Fault{Cut, Pause, Replay, Replay, Pause, Reset, Reset}
	for range 1 + s.Rng.IntN(3) {
		s.plan(harmless[s.Rng.IntN(len(harmless))], anyStage)
	}
	switch n := s.Rng.IntN(25); {
	case n < 2:
		s.plan(Interrupt, Stage(s.Rng.IntN(int(TheEnd))))
		return
	case n < 5:
		return
	case n < 9:
		f := s.fatal()
		if s.Rng.IntN(10) == 0 {
			f = Garble // whose frame must be of those few
		}
		s.plan(f, Collecting)
		return
	case n < 10:
		f := s.fatal()
		switch s.Rng.IntN(6) {
		case 0:
			f = Mute // which finds few who are ready already
		case 1:
			f = Garble
		}
		s.plan(f, Joining)
		return
	}
	short := [...]Stage{DoneUnderWay, LeaseHeld, LeaseHeld, PullParked, RecordUnderWay}
	if s.Rng.IntN(8) < 3 {
		s.plan(s.fatal(), short[s.Rng.IntN(len(short))])
	} else {
		s.plan(s.fatal(), Stage(s.Rng.IntN(int(TheEnd))))
	}
	switch s.Rng.IntN(8) {
	case 0, 1, 2:
		s.plan(s.fatal(), TheEnd)
	case 3, 4:
		s.plan(Kill, TheEnd)
	case 5:
		s.plan(s.fatal(), Joining)
	case 6:
		s.plan(s.fatal(), short[s.Rng.IntN(len(short))])
	}
}

// fatal draws a fault that ends the job; a kill twice as often, since it waits for a task to kill.
func (s *Schedule) fatal() Fault {
	list := []Fault{Kill, Kill, Crash, Stop, Mute, HalfOpen, Forge, Interrupt, Sever, Garble, Invade}
	return list[s.Rng.IntN(len(list))]
}

// anyStage lets plan draw one.
const anyStage = Stage(-1)

func (s *Schedule) plan(f Fault, p Stage) {
	if p == anyStage {
		p = Stage(s.Rng.IntN(int(Stages)))
	}
	if !Possible(f, p) {
		return
	}
	node := s.ClientAt[s.Rng.IntN(len(s.ClientAt))].Node
	most := 10 // doublings
	switch {
	case p == Collecting || f == Kill && p == TheEnd:
		most = 3
	case p >= TheEnd:
		most = 5
	case f == Kill && p == PullParked: // for a task that does not wait, beside one that does
		most = 5
	case f >= Kill:
		most = 8
	}
	skip := s.Rng.IntN(1 << s.Rng.IntN(most+1))
	if most >= 8 { // where there are more splits, as many clocks have more events
		skip = skip * max(s.Job.Splits, 8) / 3
		if s.Job.Divided { // likewise
			skip += skip / 2
		}
	}
	s.Plans = append(s.Plans, Plan{f, node, p, skip})
}

// dispatching is how a driver hands out a job's clocks.
type dispatching int

const (
	running   dispatching = iota // each split as soon as its last clock is committed
	pipelined                    // several clocks of each split ahead
	Strata                       // all splits a clock, then the next
	Clocks                       // train.Clocks: as running
	Rounds                       // train.Rounds: as Strata
)

// How long a job waits, in milliseconds.
const (
	LeaseMillis  = 2600  // for a node that is silent: longer than the 2 s after which a wait must be named
	TasksMillis  = 9000  // for tasks and executors to end when the job is over
	TaskMillis   = 20000 // for a commit while tasks are out, and for the state
	ReadyMillis  = 20000 // for a node to be ready
	AnswerMillis = 10000 // for any word of a lane that was asked: longer than anybody waits for a node that stops
)
