// Package heartbeat sends and watches heartbeats, and decides which nodes are awaited, suspected or lost: Monitor at
// node 0, Follower elsewhere. Both are step functions. TaskWait limits the time for which a node waits for its own
// tasks when the job is over.
//
// A Follower's shell calls Start when its roles are assembled, Tick a few times a second, and Disconnected when a
// connection has ended for good. It calls JobOver and TasksEnded when they come about, and carries out the effects. The
// Monitor's caller is the controller. Both receive the number of bytes that have come from every other node: a node
// that sends anything is alive.
//
// Silence only makes a node suspected. If a node wakes after it was given up, each receiver of its messages decides
// what they may still do.
package heartbeat
