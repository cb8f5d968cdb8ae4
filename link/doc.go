// Package link is the folder of what carries messages between nodes: wire, transport, session, traffic, fabric and
// secure. Package wire has the messages and their encoding. Package transport has connections that carry frames, in
// memory and over sockets, and session has reliable streams over connections that break. Package fabric delivers
// messages from actor to actor on top of these. The folder itself has no code. No package here knows the purpose of a
// message.
package link
