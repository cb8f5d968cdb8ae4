// Package fence rejects messages of replaced controllers, of earlier processes of a client, and of nodes that were
// declared gone. It decides which processes an actor of a job listens to.
//
// Three questions are asked of a message, and each has a value here that answers it:
//
//   - Is it from the newest controller? Terms keeps the highest term heard, and counts what is dropped.
//   - Is it from the newest process of its client, and was that process not declared gone? Clients
//     keeps the newest incarnation of each client, and the fences.
//   - Can the controller still reach this actor? Silence measures how long it has said nothing.
//
// Silence only makes a suspect. Terms and fences are what makes a verdict hold, however late a suspect
// wakes (P11 of the simulation).
//
// The caller's duties, in order: ask Terms about each message of the controller, and tell Silence that
// it was heard; ask Clients.Excludes about each message of anyone else; ask Clients.Meet about messages
// that name their incarnation. The package answers and remembers. The caller acts on it: it forgets the
// reads, subscriptions, leases and held flushes of a process that is gone.
//
// Lanes use all of it. Clients use Terms alone, because a lane does not restart within a job. The
// controller uses none of it: it is the newest by definition, and it loses nodes instead of processes.
// The number of a node is never given again (package coord).
package fence
