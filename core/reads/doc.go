// Package reads answers reads at a lane: it parks them until they may be answered, grants leases, and sends changed
// rows to subscribers.
//
// A read is parked until the gate admits it: all that it needs is visible here, and no exclusive lease is out.
// It is looked at again at the end of every step, since what may admit it comes by a step: a record, the end of
// a lease, a mark that came back.
//
// Rows that a client reads again and again are pushed to it (Bösen §4.2), so that a clock costs it neither a
// request nor the wait for an answer. A client subscribes with a read, and the answer is the first version. From
// then on it is owed what has changed (Owe), and is sent that at the end of the step (Relay), in one message for
// each client. Debts stay while a lease keeps the newest rows out, or while the client's node does not read.
// Nothing is lost by that: what is sent is what has changed since the last time, and not each change. Each
// partition knows by positions in its log which rows those are (package partition).
//
// No wait is silent: a client that has waited for long asks what the lane has of its request, and Explain names the
// nearest cause that a person can look at (package pending): the node that
// has a lease, the split that is furthest back.
//
// All that leaves counts against the credit of its node (gate.Credits). The caller's duties: it asks nothing of
// partitions that it does not own, forgets processes that are gone (Forget), and calls Grants, Answers and Relay
// at the end of each step, if it may serve.
package reads
