// Package link groups what lies between nodes: messages and their encoding (wire), connections that carry frames
// (transport, in memory and over sockets), reliable streams over connections that break (session), and message delivery
// from actor to actor on top of these (fabric). It has no code of its own. No package here knows the purpose of a
// message.
package link
