// Package link is the drawer of what lies between nodes: the messages and their bytes (wire), connections that carry frames (transport, in memory and over
// sockets), what makes one stream of messages of connections that break (session), and what carries messages from actor to actor by all of these (fabric).
// It has no code of its own. Nothing here knows what a message is for.
package link
