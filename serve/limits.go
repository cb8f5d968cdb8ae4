package serve

import (
	"fmt"
	"time"
)

// Limits bound what is asked. Each has a flag of its name.
type Limits struct {
	Body        int64         // bytes of a question.
	Rows        int           // of a question
	Requests    int           // answered at once; further ones are told to retry
	Connections int           // open at once; those beyond wait to be taken
	Timeout     time.Duration // for a question to come whole, and again for its answer to be taken
	Drain       time.Duration // for those under way when the server ends
	Look        time.Duration // from one look at the model's folder to the next; 0: none
}

// Default returns what is usual.
func Default() Limits {
	return Limits{Body: 8 << 20, Rows: 10_000, Requests: 64, Connections: 1024, Timeout: 10 * time.Second, Drain: 10 * time.Second, Look: 2 * time.Second}
}

// Fault is a limit that cannot be: the name of its flag, what it was set to, and why not.
type Fault struct{ Flag, Value, Why string }

// Check finds the first limit that cannot be, nil: none.
func (l Limits) Check() *Fault {
	whole := func(flag string, v, least, most int64) *Fault {
		if v >= least && v <= most {
			return nil
		}
		return &Fault{flag, fmt.Sprint(v), fmt.Sprintf("it is from %d to %d", least, most)}
	}
	long := func(flag string, v, least, most time.Duration) *Fault {
		if v >= least && v <= most {
			return nil
		}
		return &Fault{flag, v.String(), fmt.Sprintf("it is from %v to %v", least, most)}
	}
	faults := []*Fault{
		whole("max-body", l.Body, 1, 1<<30), whole("max-rows", int64(l.Rows), 1, 10_000_000),
		whole("max-requests", int64(l.Requests), 1, 10_000), whole("max-connections", int64(l.Connections), 1, 100_000),
		long("timeout", l.Timeout, 100*time.Millisecond, 10*time.Minute), long("drain", l.Drain, 0, 10*time.Minute),
	}
	if l.Look != 0 {
		faults = append(faults, long("look", l.Look, 100*time.Millisecond, 24*time.Hour))
	}
	for _, f := range faults {
		if f != nil {
			return f
		}
	}
	return nil
}
