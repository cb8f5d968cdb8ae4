// Package script describes events of a laboratory's job: moves, departures, deaths, slow nodes, switched roles and
// cuts. Partitions and splits move; nodes leave, die, are slow for a while or switch their role; and cuts, which save
// the job's state, are taken.
//
// Make events, or Parse them, and Check them against the numbers of nodes, splits and partitions of a job. The package
// does not carry them out.
package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bellows"
	"bellows/policy/reshape"
)

// Kind is what happens.
type Kind string

// The kinds.
const (
	Move   Kind = "move"   // a partition moves to a node
	Split  Kind = "split"  // a split moves to a node
	Leave  Kind = "leave"  // a node is asked to leave
	Die    Kind = "die"    // a node's process is killed
	Cut    Kind = "cut"    // a cut is taken
	Switch Kind = "switch" // a node gets or loses tables or tasks
	Slow   Kind = "slow"   // a node is slow for a while
)

// Event is something that happens at a time. Each kind uses some of the fields.
type Event struct {
	At        time.Duration
	Kind      Kind
	Node      bellows.NodeID // Move and Split: the node that it moves to
	Partition int            // of Move, by its number in the route
	Split     bellows.SplitID
	Role      reshape.Role  // of Switch
	For       time.Duration // Slow: how long; Leave: the notice, 0: as long as it takes
	Slower    float64       // of Slow: the factor
}

// Result is what became of an event.
type Result struct {
	Event
	Began time.Duration // when the controller took it; 0: it did not
	Done  time.Duration // when it had come about; 0: it did not
	Err   string        // why it did not
}

// Form shows how an event of each kind is written: its time, its kind and its arguments.
const Form = "TIME:move:PARTITION:NODE, TIME:split:SPLIT:NODE, TIME:leave:NODE[:NOTICE], TIME:die:NODE, TIME:cut, " +
	"TIME:switch:NODE:worker|server|both or TIME:slow:NODE:FACTOR:DURATION"

// Parse reads an event in the form of Form.
func Parse(text string) (e Event, err error) {
	list := strings.Split(text, ":")
	if len(list) < 2 {
		return e, fmt.Errorf("%q is not %s", text, Form)
	}
	if e.At, err = time.ParseDuration(list[0]); err != nil {
		return e, err
	}
	e.Kind = Kind(list[1])
	fields, some := e.fields()
	args := list[2:]
	if most := len(fields); !some || len(args) > most || len(args) < most-e.optional() {
		return e, fmt.Errorf("%q is not %s", text, Form)
	}
	for i, arg := range args {
		if err := fields[i](arg); err != nil {
			return e, err
		}
	}
	return e, nil
}

// optional returns how many arguments may be left out.
func (e *Event) optional() int {
	if e.Kind == Leave {
		return 1
	}
	return 0
}

// fields returns the functions that read the arguments of the event's kind, in order, and whether the kind is known.
func (e *Event) fields() (list []func(string) error, some bool) {
	node := func(arg string) error {
		n, err := strconv.ParseUint(arg, 10, 32)
		e.Node = bellows.NodeID(n)
		return err
	}
	lasting := func(arg string) (err error) {
		e.For, err = time.ParseDuration(arg)
		return err
	}
	switch e.Kind {
	case Move:
		return []func(string) error{func(arg string) (err error) {
			e.Partition, err = strconv.Atoi(arg)
			return err
		}, node}, true
	case Split:
		return []func(string) error{func(arg string) error {
			s, err := strconv.ParseUint(arg, 10, 32)
			e.Split = bellows.SplitID(s)
			return err
		}, node}, true
	case Leave:
		return []func(string) error{node, lasting}, true
	case Die:
		return []func(string) error{node}, true
	case Cut:
		return nil, true
	case Switch:
		return []func(string) error{node, e.setRole}, true
	case Slow:
		return []func(string) error{node, func(arg string) (err error) {
			e.Slower, err = strconv.ParseFloat(arg, 64)
			return err
		}, lasting}, true
	}
	return nil, false
}

func (e *Event) setRole(arg string) error {
	switch arg {
	case "worker":
		e.Role = reshape.Worker
	case "server":
		e.Role = reshape.Server
	case "both":
		e.Role = reshape.Both
	default:
		return fmt.Errorf("%q is not worker, server or both", arg)
	}
	return nil
}

// Check reports why an event cannot happen in a job of so many nodes, splits and partitions.
func (e *Event) Check(nodes, splits, partitions int) error {
	switch {
	case e.At < 0 || e.For < 0:
		return fmt.Errorf("times may not be negative")
	case e.Kind != Cut && int(e.Node) >= nodes:
		return fmt.Errorf("there is no node %d", e.Node)
	case (e.Kind == Leave || e.Kind == Die || e.Kind == Switch) && e.Node == 0:
		return fmt.Errorf("node 0 leads")
	case e.Kind == Move && (e.Partition < 0 || e.Partition >= partitions):
		return fmt.Errorf("there is no partition %d", e.Partition)
	case e.Kind == Split && int(e.Split) >= splits:
		return fmt.Errorf("there is no split %d", e.Split)
	case e.Kind == Slow && !(e.Slower > 0):
		return fmt.Errorf("the factor must be above 0")
	}
	if _, some := e.fields(); !some {
		return fmt.Errorf("%q is not %s", e.Kind, Form)
	}
	return nil
}

// Slowness returns the factor by which the events of a script slow a node at a time, and the time until which it holds:
// always if no later event changes it.
func Slowness(list []Event, n bellows.NodeID, now, always time.Duration) (slower float64, until time.Duration) {
	slower, until = 1, always
	for i := range list {
		e := &list[i]
		switch end := e.At + e.For; {
		case e.Kind != Slow || e.Node != n || now >= end:
		case now < e.At:
			until = min(until, e.At)
		default:
			slower *= e.Slower
			until = min(until, end)
		}
	}
	return slower, until
}
