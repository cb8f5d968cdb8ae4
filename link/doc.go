// Package link groups the packages between nodes: messages and their encoding (wire), connections that carry frames
// (transport, in memory and over sockets), reliable streams over connections that break (session), and message delivery
// from actor to actor on top of these (fabric). It has no code. No package here knows the purpose of a message.
package link
