package liveness

import "cmp"

// Times are how long a job waits, in milliseconds: the one table that everything that waits reads. Every wait that
// lasts longer than Notice is named, with what it waits for and until when. At its end the job ends with a sentence;
// no wait is unlimited.
//
// A zero means the default.
type Times struct {
	// Lease is how long one of several nodes may be silent before it is declared gone. A shorter lease finds dead
	// nodes sooner; but a machine that stops for as long, under load or in a debugger, is taken for dead. The default
	// is a tick or two less than 3 s, so that a silent node is gone within 3 s. It exceeds 2.5 s by the time between
	// the last sign of life before a stop and the first one after it (docs/decisions/0073).
	Lease int64
	// Broken is how long the end of a connection waits for a better reason: that its process died.
	Broken int64
	// Complaint is how long two nodes that have lost each other wait to learn that node 0 has also lost one of them.
	Complaint int64
	// Leader is how long the others wait for node 0: longer than a lease, since without it no node can continue, so
	// that haste gains nothing.
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
	// Answer is how long a lane may send nothing at all to a client that has asked what it has of a read, a lease or
	// a flush. It is longer than a message of 1 GiB takes on a link of 15 Mbit/s, since answers come in order. If the
	// lane has confirmed a wait, that wait continues: its cause has another deadline, in the end that of a task.
	Answer int64
	// End is how long an actor's last message is awaited when the job is over: two leases. One may pass until a
	// silent node is lost; the actors that waited for it then still send their last messages.
	End int64
	// Collect is how long nothing may come of the state that is collected.
	Collect int64
	// Tasks is how long a node's tasks may run after the job is over: an application's code cannot be stopped, only
	// left.
	Tasks int64
}

// awakeMillis is the most that Awake returns.
const awakeMillis = 1000

// Awake returns how much of the time between two ticks counts for a wait, although the caller may have slept. It is
// enough that a caller which is always slow also comes to the end of its waits.
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
