// Package membership keeps the route, lanes and clients of a job at its controller, and changes them: joins, removals,
// losses and moves. A move is one of a split or of a partition.
//
// The caller's duties, in order:
//
//  1. New. A controller that follows another one restores a saved membership (Restore) and replays each record that
//     changes the route (Replay).
//  2. Ask for a change: Admit and Enrol for an actor that joins, Successor and StartLeaving for one that leaves,
//     CheckSplitMove and MoveSplit, MovePartition and TakePrepared, RemoveLost.
//  3. Record each change of the route in the journal, in the order in which they are returned, before anything that
//     relies on it. Change makes one in the route alone. Then Announce them to the clients.
//  4. TakeAdopted with each list that a lane sends of counts that it has taken over; Vacate says which nodes may go.
//
// Changes are returned as control records, and messages are added to the outbox of the call or returned as an
// Order. The package decides which nodes get the splits and partitions of a node that is lost. Package heartbeat
// decides when it is lost.
// A Group has a heartbeat.Monitor.
package membership
