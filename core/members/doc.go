// Package members keeps which nodes take part in a job and are alive: both ends of it, as step functions. Roll is
// node 0's end, Follower that of every other node.
//
// A Follower's shell calls Start when its roles are assembled, Tick a few times a second, Disconnected when a
// connection has ended for good, JobOver and TasksEnded when they come about, and carries out its effects. The Roll's
// shell is the controller. Both receive the number of bytes that have come from every other node: a node that sends
// anything is alive.
//
// Silence only makes a node suspected. If a node wakes after it was given up, each receiver of its messages decides
// what they may still do.
package members
