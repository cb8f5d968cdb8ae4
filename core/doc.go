// Package core is what the actors of a job have in common: Job, what they all agree on before the first message. It is also the drawer of the protocol: the actors (client,
// server, coord), the rules that they decide by (gate, route, validate, delta, store, rule, keys, lease, liveness), and the rules that a node's shell drives beside them (members: who
// is alive; join: how nodes come together; collect: the state at the end; slots: whose turn it is; shell: all of these as one). Whatever is in it is a step
// function or plain data: no goroutine, no clock, no file, no socket.
package core
