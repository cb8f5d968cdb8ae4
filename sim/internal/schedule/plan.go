package schedule

import (
	"fmt"

	"bellows"
)

// Fault is a kind of thing that goes wrong: one of the names in Faults.
type Fault string

// Faults lists all kinds of faults, each with its family: what it concerns. Those from "kill" on end the job; the
// others must have no effect.
var Faults = [...]struct {
	Name   Fault
	Family string
}{
	{"break", "connections"},         // a connection breaks at random, again and again on a breaking network
	{"late", "connections"},          // a frame is much later than others, and those after it with it
	{"cut", "connections"},           // a link carries nothing for a while, in one direction
	{"reset", "connections"},         // a connection breaks, with all that is under way; it is made again
	{"pause", "nodes"},               // a node stops for less than the others wait for it, and resumes
	{"replay", "messages"},           // a message comes again, or one of an older generation
	{"kill", "tasks and users"},      // a task ends in an error
	{"crash", "nodes"},               // a node stops for good: its process dies, or its host vanishes
	{"stop", "nodes"},                // a node stops for longer than the others wait for it
	{"mute", "nodes"},                // a node is not heard by node 0 for more than a lease, and comes back
	{"half-open", "connections"},     // a link loses everything from now on, in one direction
	{"sever", "connections"},         // a connection breaks, and none is made again
	{"garble", "messages"},           // a frame is damaged on its way
	{"forge", "messages"},            // the controller gets a Done like that, or an impossible piece of the state
	{"interrupt", "tasks and users"}, // the user wants out; the job resumes later, from its image
	{"invade", "messages"},           // a node sends what no sound one would; nothing may panic, and the schedule ends
	{"failover", "connections"},      // the controller is lost with all that it knows, and another follows
}

// Number returns the place of a fault in Faults, by which traces name it. It panics if no fault has that name.
func (f Fault) Number() int {
	for i := range Faults {
		if Faults[i].Name == f {
			return i
		}
	}
	panic(fmt.Sprintf("schedule: unknown fault %q", f))
}

// Family returns what a fault concerns.
func (f Fault) Family() string { return Faults[f.Number()].Family }

// fatal reports whether a fault ends the job.
func (f Fault) fatal() bool { return f.Number() >= Fault("kill").Number() }

// Possible reports whether a fault can be injected in a stage of a job at all.
func Possible(f Fault, p Stage) bool {
	switch p {
	case Joining: // nothing has run yet
		return f != "kill" && f != "replay" && f != "forge"
	case Collecting: // nothing runs any more
		return f != "kill" && f != "replay" && f != "interrupt"
	}
	return true
}

// Plan is a fault to come: when a node has been in a stage for some events.
type Plan struct {
	Fault Fault
	Node  bellows.NodeID // the node with the work that is in the stage
	Stage Stage
	Skip  int
}

// Stage is a state of the protocol in which a fault may be injected at a node.
type Stage int

// The stages, each as the client with the work sees it.
const (
	PullParked     Stage = iota // a lane keeps a read waiting
	PushUnderWay                // a part of a flush is between client and lane
	FlushHeld                   // a lane holds a part that is not recorded
	DoneUnderWay                // the client has sent Done to the controller, which has not received it
	RecordUnderWay              // the controller has recorded a flush and a lane does not know it
	LeaseHeld                   // a task has a lease
	TheEnd                      // the controller has announced the end of the job, and some actor has not answered
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
	harmless := []Fault{"cut", "pause", "replay", "replay", "pause", "reset", "reset"}
	for range 1 + s.Rng.IntN(3) {
		s.plan(harmless[s.Rng.IntN(len(harmless))], anyStage)
	}
	switch n := s.Rng.IntN(25); {
	case n < 2:
		s.plan("interrupt", Stage(s.Rng.IntN(int(TheEnd))))
		return
	case n < 5:
		return
	case n < 9:
		f := s.anyFatal()
		if s.Rng.IntN(10) == 0 {
			f = "garble" // a garbled frame must be one of those few
		}
		s.plan(f, Collecting)
		return
	case n < 10:
		f := s.anyFatal()
		switch s.Rng.IntN(6) {
		case 0:
			f = "mute" // when few nodes are ready already
		case 1:
			f = "garble"
		}
		s.plan(f, Joining)
		return
	}
	short := [...]Stage{DoneUnderWay, LeaseHeld, LeaseHeld, PullParked, RecordUnderWay}
	if s.Rng.IntN(8) < 3 {
		s.plan(s.anyFatal(), short[s.Rng.IntN(len(short))])
	} else {
		s.plan(s.anyFatal(), Stage(s.Rng.IntN(int(TheEnd))))
	}
	switch s.Rng.IntN(8) {
	case 0, 1, 2:
		s.plan(s.anyFatal(), TheEnd)
	case 3, 4:
		s.plan("kill", TheEnd)
	case 5:
		s.plan(s.anyFatal(), Joining)
	case 6:
		s.plan(s.anyFatal(), short[s.Rng.IntN(len(short))])
	}
}

// anyFatal draws a fault that ends the job; a kill twice as often, since it waits for a task to kill.
func (s *Schedule) anyFatal() Fault {
	list := []Fault{"kill", "kill", "crash", "stop", "mute", "half-open", "forge", "interrupt", "sever", "garble", "invade"}
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
	case p == Collecting || f == "kill" && p == TheEnd:
		most = 3
	case p >= TheEnd:
		most = 5
	case f == "kill" && p == PullParked: // for a task that does not wait, beside one that does
		most = 5
	case f.fatal():
		most = 8
	}
	skip := s.Rng.IntN(1 << s.Rng.IntN(most+1))
	if most >= 8 { // where there are more splits, as many clocks have more events
		skip = skip * max(s.Job.Splits, 8) / 3
		if s.Job.Divided { // a divided job has more events as well
			skip += skip / 2
		}
	}
	s.Plans = append(s.Plans, Plan{f, node, p, skip})
}

// How long a job waits, in milliseconds.
const (
	LeaseMillis  = 2600  // for a node that is silent: longer than the 2 s after which a wait must be named
	TasksMillis  = 9000  // for tasks and executors to end when the job is over
	TaskMillis   = 20000 // for a commit while tasks are out, and for the state
	ReadyMillis  = 20000 // for a node to be ready
	AnswerMillis = 10000 // for an answer of a lane: longer than any node waits for a node that stops
)
