// Package members is who takes part in a job and is alive: both ends of it, as step functions. Roll
// is node 0's, Follower that of every other node.
//
// A Follower's shell calls Start when its roles are assembled, Tick a few times a second,
// Disconnected when a connection has ended for good, Over and TasksEnded when they come about, and
// carries out its effects. A Roll's is the controller. Both are told how many bytes have come from
// every other node, since a node that sends is alive, whatever it sends.
//
// Silence only makes a suspect. What a node may still do that was given up and wakes is decided by
// whoever hears it.
package members
