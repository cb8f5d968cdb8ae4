// Package sim simulates a job under faults: the state machines of production over a simulated network, driven by one
// seed, with every promise checked.
//
// Run plays one schedule and reports the first invariant that it broke, if any. A seed decides everything: the job (one
// of a few shapes), which nodes host lanes and clients, how the links misbehave, and which other faults are injected
// and when. The package has one goroutine, no clock, and no map with an order that matters. So the same seed gives the
// same trace; Result has its hash.
//
// Connections carry the messages, as package transport promises them: each keeps order and loses nothing until it ends,
// with all that is under way, and package session resumes it. On half of the networks connections break at random,
// again and again; on the others only where a fault is injected. On both, a direction may fall silent, for a while or
// for ever. Clocks drift; nodes stop and wake, or stop for good; an interrupted job resumes from its image on other
// nodes.
//
// The package makes things happen; observers (internal/observe) see every message and check it. In the order in which a schedule
// is made:
//
//	internal/model      what the job computes, and what the recorded commits make of it
//	internal/schedule   everything that a seed decides before the first event
//	internal/driver     three ways to dispatch the job's clocks
//	internal/virtual    time
//	world.go            actors, and the mail between them
//	node.go             the process around its actors, which does what packages node and fabric do in production
//	network.go          connections: internal/transit; internal/msgcopy copies messages
//	worker.go           the shell of a client; script.go, the tasks that it runs; internal/steps, what these read, change and lease
//	fault.go, inject.go faults; internal/blame, the reasons for which a job may end; internal/hostile, forged messages
//	invade.go           nodes that send what no sound node would
//	grow.go, leave.go   lanes and clients that join and leave; move.go, partitions that move; guest.go, nodes that join
//	reshape.go          jobs that get another shape by the machine of policy/reshape; internal/reshaping, which drives and checks it
//	internal/advising   jobs that choose their shape by false figures
//	cut.go              cuts of the job; internal/cutting, the shells that take them
//	failover.go         controllers that follow another
//	collect.go          the next attempt of a job that was interrupted
//	run.go              one schedule, and its result; internal/trace, its hash and its log
//
// The observers, in the order in which they are called (observers.go):
//
//	internal/lanewatch  what lanes have been sent
//	internal/moves      partitions that move, and the owner of each after every record
//	internal/coverage   events that a schedule has brought about
//	internal/stages     the protocol stages that nodes are in
//	internal/account    row deltas, leases and compute slots
//	internal/await      waits that must be named
//	internal/witness    every read, compared with the model
//	internal/lifecycle  how far the job is
//	internal/nodestate  what has become of nodes
//	internal/failover   what is known of the controllers
//	internal/verdict    why the job has ended, and its audit
//	internal/images     tables of lanes, cuts and node 0, compared with the model
//	internal/admission  how nodes join
//	internal/grid       deaths that are played one by one: in each step of each change, of each role (TestEveryDeath)
//
// The oracle shares no code with the core: it replays the controller's records through the job's functions. Some jobs
// have clocks of several units; each unit does its share. Columns of the count tables belong to splits: a value that
// was read thus says how many units of each split it contains. Sums under BSP mix magnitudes, so that another order of
// addition shows.
//
// It refuses to guess about performance: delays are drawn to provoke, not to resemble a network.
package sim
