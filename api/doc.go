// Package api shows a job to those who watch it: a snapshot of its state, its events, and its counters as
// Prometheus reads them. It is read only.
//
// The caller's duties, in order:
//
//  1. Make a Feed and Append every event of the job to it, as the line of JSON that is stored.
//  2. Give a function that makes a Status whenever somebody asks, and the feed, to NewHandler. The function is
//     called from many goroutines at once.
//  3. Serve the handler where only those can ask who may: at a socket that the kernel guards, or, since it
//     answers nobody who names another host, at a loopback address.
//  4. Close the feed when the job is over: who follows the events then sees their end.
//
// The package refuses to change anything, to answer under a foreign host name, and to hold more than the last
// events and a bounded number of questions. It opens no socket.
package api
