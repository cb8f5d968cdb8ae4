// Package sim is the fault machine: the roles of a job, the same state machines that run in
// production, driven by one seed over a network and executors that fail in every way we could think of.
//
// Run plays one schedule and reports the first promise that it broke, if any. A seed decides
// everything: the job (one of a few shapes), who hosts lanes and clients, how the links misbehave,
// what else goes wrong and when. There is one goroutine, no clock, and no map whose order matters, so
// the same seed gives the same trace, whose hash Report carries.
//
// The package is read in the order in which a schedule is made:
//
//	job.go        what the job computes: pure functions of (split, clock); model.go, its state under BSP
//	schedule.go   what a seed decides before the first event
//	queue.go      virtual time
//	world.go      nodes and actors, and the mail between them
//	link.go       two session ends and the unreliable link between two nodes
//	internal/parcel, messages as a codec would copy them, and their digests
//	worker.go     the shell of a client; script.go and step.go, the tasks that it runs
//	words.go      the sparse table: its tasks' steps, and its model
//	driver.go     three ways to dispatch a job's clocks
//	phase.go      which protocol phases a node is in; fault.go what goes wrong within them
//	oracle.go     the model: what the recorded commits make of the job's functions; ledger.go, the
//	              account of row deltas and leases, kept from the messages alone
//	check.go      promises held against the model, read by read
//	final.go      promises held against what is left when the job is over
//	run.go        one schedule, and its report; trace.go, its hash and its log
//
// The oracle shares no code with the core: it replays the controller's records through the job's
// functions. Columns of the count tables belong to splits, so that a value read says how many clocks of
// each split it contains; sums under BSP mix magnitudes, so that another order of addition shows.
//
// It refuses to guess about performance: delays are drawn to provoke, not to resemble a network.
package sim
