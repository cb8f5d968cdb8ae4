// Package lab is the laboratory: it trains a real job on a simulated cluster, in virtual time. The protocol is the real
// one: clients, lanes, the controller, and the rest of a node (package core/shell) are the step functions that run in
// production, and messages between nodes are encoded and decoded as on the wire. The mathematics is real as well:
// applications run unchanged, and the tables that come to node 0 at the end are a model. Processors, links and slow
// machines are parameters.
//
// The caller's duties, in order:
//
//  1. Describe the Site: machines with cores and links, and the nodes on them. Alone, Processes and Cluster make
//     the usual ones. Node 0 hosts the controller.
//  2. Say in Costs what work costs on one core. Figures come from measurement: bench/lab fits them to real runs
//     of a machine.
//  3. Choose a Pattern of slow nodes, or none, and a Seed, which decides everything that is left to chance.
//  4. Say in Growth which nodes join while the job runs, and in SplitBytes how much goes to them with a split.
//  5. Say in Script what else happens, in Cuts how often cuts are taken, and in Recovery how long a death takes to notice and repair.
//  6. Run. The job of a Config is used up by that.
//
// How time passes:
//
//   - A task's cost is due in one piece, on a core, where it computes: behind what it reads first, and before it
//     reads the same rows again or ends. Where that is, is learnt from the split's last task; its first one shows it.
//     Tasks of a node share its slots as they do in production.
//   - A node handles its messages one batch after the other: all that has arrived, for the sum of its costs.
//   - Tasks and messages of a machine share its cores (package cores): evenly, or in slices. A node that is slow is slow for both, and
//     other work may take a share of the machine.
//   - Frames pass their machine's uplink and the other's downlink, in the order of production (package link).
//
// All steps of a client, a lane or the controller happen alone, in the order of virtual time. Only the computation of a
// task between two questions to its client, which no other part can see, runs in parallel on other processors. A run is
// thus faster than its events one by one; nothing depends on how fast. The same Config gives the same events, hash and
// model on one kernel set: the set in use is named in the Result (vec.Use pins it; avx2 and avx512 agree).
//
// A script gives other events of the job: moves, cuts, nodes that leave, die, are slow or switch their role (package
// script). The controller, the shells and policy/reshape carry them out as in production. The death of a node with
// tables ends an attempt of the job; the next begins with the last cut.
//
// The package refuses to know other faults: links lose nothing and do not break, and a lease is as long as the
// experiment may take (package sim is for that). It refuses to measure: it never looks at a clock. And it refuses to
// guess costs: work that Costs, Cuts and Recovery do not name is free.
package lab
