// Package sim is the fault machine: the roles of a job, the same state machines that run in
// production, driven by one seed over a network and executors that fail in every way we could think of.
//
// Run plays one schedule and reports the first promise that it broke, if any. A seed decides
// everything: the job (one of a few shapes), who hosts lanes and clients, how the links misbehave,
// what else goes wrong and when. There is one goroutine, no clock, and no map whose order matters, so
// the same seed gives the same trace, whose hash Result carries.
//
// Connections carry the messages, as package transport promises them: each keeps order and loses nothing until it ends, with all that is
// under way, and package session resumes it. On half of the networks they break by themselves, again and again, on the others only where a
// fault is injected. On both, a direction may go silent, for a while or for ever. Clocks drift; nodes stop and wake, or stop for good; a job that is
// interrupted goes on from its image on other nodes.
//
// The package is read in the order in which a schedule is made:
//
//	internal/model, what the job computes, and what the recorded commits make of that; internal/schedule, what a seed decides before the first event
//	internal/driver, three ways to dispatch the job's clocks; internal/virtual, time
//	world.go      actors, and the mail between them
//	node.go       what drives the actors of a process and the shell around them, as packages node and fabric do in production
//	network.go    what connections know of a node, and tell it; internal/transit, these and the messages on their way over them; internal/msgcopy, copies of messages
//	worker.go     the shell of a client; script.go, the tasks that it runs
//	internal/steps, what these read, change and lease
//	stage.go      which protocol stages a node is in; fault.go and inject.go, what goes wrong within them
//	invade.go     nodes that say what no sound one would
//	grow.go       lanes and clients that join later, and splits that move
//	guest.go      nodes that join, and what becomes of them
//	cut.go        cuts of the job, and what goes on from them; internal/cutting, the shells that take them
//	failover.go   other controllers, which follow one that is gone
//	collect.go    the state on its way to node 0, and the next life of a job that was interrupted
//	internal/account, row deltas, leases, owners of partitions and compute slots, kept from what the world sees; internal/await, the waits that must be named
//	internal/witness, promises held against the model, read by read
//	final.go      promises held against what is left when the job is over; run.go, one schedule, and its result, with its hash and its log
//	internal/coverage, what the schedule has brought about
//	internal/grid, deaths that are played one by one: in each step of each change, of each role (TestEveryDeath)
//
// The oracle shares no code with the core: it replays the controller's records through the job's
// functions. Some jobs have clocks of several units, of which each does its share. Columns of the count tables belong to splits, so that a value read says how many units of
// each split it contains; sums under BSP mix magnitudes, so that another order of addition shows.
//
// It refuses to guess about performance: delays are drawn to provoke, not to resemble a network.
package sim
