// Package api serves the state of a running job over HTTP, read only: a snapshot, the stream of its events, and its
// counters for Prometheus (api/metrics).
//
// The caller's duties, in order:
//
//  1. Make a Feed and Append every event of the job to it, as the stored line of JSON.
//  2. Pass a function that makes a Status on request, and the feed, to NewHandler. The function is called on many
//     goroutines at once.
//  3. Serve the handler only where access is restricted: at a socket with file permissions, or at a loopback address, for
//     the handler refuses requests with another host name.
//  4. Close the feed when the job is over: followers of the events then see their end.
//
// The package changes nothing, refuses requests under another host name, and holds only the last events and a bounded
// number of requests. It opens no socket.
package api
