package liveness

import "cmp"

// Times are how long a job waits for what, in milliseconds: the one table of them, which everything
// reads that waits. Every wait that lasts longer than Notice is named with whom it is for and until
// when, and at its end the job ends with a sentence; none is without end.
//
// A zero means the default.
type Times struct {
	// Lease is how long a node of several may be silent before it is declared gone. Shorter finds
	// the dead sooner; a machine that stops for as long, under load or in a debugger, is taken for
	// dead. By default it is as much less than 3 s as passes until that is seen, a tick or two, so
	// that who falls silent is gone within 3 s; and as much more than 2.5 s as passes between the
	// last sign of life before a stop and the first behind it (docs/decisions/0073).
	Lease int64
	// Broken is how long the end of a connection waits for a better reason: that its process died.
	Broken int64
	// Complaint is how long two nodes that have lost each other wait to learn that one of them is
	// lost to node 0, too.
	Complaint int64
	// Leader is how long the others wait for node 0: longer than a lease, since without it none of
	// them can go on, so that nothing is gained by haste.
	Leader int64
	// Successor is how long another process may take to come in the place of node 0's, which has
	// died; 0: none comes, and the others end as soon as they know.
	Successor int64
	// Notice is how long a wait may last before it is named.
	Notice int64
	// Start is how long a process that was started may take to say where it listens: it has read
	// nothing by then.
	Start int64
	// Join is how long the nodes may be waited for until all have joined each other. Processes that
	// were started for a job prepare it first, all at once, so that it is several times what that
	// takes one of them. Too little ends jobs of large data before they begin; too much lets a
	// process that hangs hold the job up, by name, for that long.
	Join int64
	// Ready is how long a node may prepare its part of the job once it has joined.
	Ready int64
	// Task is how long a task may compute without waiting for anything, and how long nothing may be
	// committed while tasks are out: far longer than any clock takes, since it ends the job.
	Task int64
	// Answer is how long a lane may say nothing at all to a client that has asked what it has of a
	// read, a lease or a flush: longer than a message of 1 GiB takes on a link of 15 Mbit/s, since
	// answers come in order. A wait of which the lane has said that it has it goes on: what it is
	// for has a deadline of its own, in the end that of a task.
	Answer int64
	// End is how long the last word of an actor is waited for when the job is over: two leases,
	// since one may pass until a silent node is lost, and those who waited for it then have their
	// last word.
	End int64
	// Collect is how long nothing may come of the state that is collected.
	Collect int64
	// Tasks is how long a node's tasks may go on when the job is over: an application's code cannot
	// be stopped, only left.
	Tasks int64
}

// awakeMillis is what Awake says at most.
const awakeMillis = 1000

// Awake is how much of the time between two ticks counts for a wait, though whoever waits may have
// slept: so much that who is always slow comes to the end of its waits, too.
func (Times) Awake(gapMillis int64) int64 { return min(gapMillis, awakeMillis) }

// Or fills in the defaults: 2.75 s for a lease, and the others as they follow from it or from what
// people wait for.
func (t Times) Or() Times {
	t.Lease = cmp.Or(t.Lease, 2750)
	t.Broken = cmp.Or(t.Broken, 1000)
	t.Complaint = cmp.Or(t.Complaint, 3000)
	t.Leader = cmp.Or(t.Leader, 3*t.Lease)
	t.Notice = cmp.Or(t.Notice, 2000)
	t.Start = cmp.Or(t.Start, 20_000)
	t.Join = cmp.Or(t.Join, 60_000)
	t.Ready = cmp.Or(t.Ready, 10*60_000)
	t.Task = cmp.Or(t.Task, 60*60_000)
	t.Answer = cmp.Or(t.Answer, 10*60_000)
	t.End = cmp.Or(t.End, 2*t.Lease)
	t.Collect = cmp.Or(t.Collect, 5*60_000)
	t.Tasks = cmp.Or(t.Tasks, 60_000)
	return t
}
