// Package core defines Job: what all actors of a job agree on before the first message (tables, lanes, clients, first
// route, times). The folder core has the protocol. Its actors are in client, server and coord. Rules by which they
// decide are in gate, route, validate, delta, rowstore, rule, keys, lease and liveness. The shell of a node drives more
// of them next to its actors: heartbeat (which nodes are alive), join (how nodes connect), checkpoint (the state at the
// end) and slots (which task computes next). Every package in it is a step function or plain data: no goroutine, no
// clock, no file, no socket.
package core
