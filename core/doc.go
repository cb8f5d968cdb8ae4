// Package core has what the actors of a job have in common: Job, which they all agree on before the first message. It
// is also the folder of the protocol: the actors (client, server, coord), the rules of their decisions (gate, route,
// validate, delta, store, rule, keys, lease, liveness), and the rules that a node's shell drives next to them (members:
// which nodes are alive; join: how nodes come together; collect: the state at the end; slots: which task computes next;
// shell: all of these as one). Every package in it is a step function or plain data: no goroutine, no clock, no file,
// no socket.
package core
