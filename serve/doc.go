// Package serve answers requests for predictions of one saved model over HTTP, and loads a newer one from the same
// folder without a pause.
//
// The caller's duties, in order: Limits.Check; Listen, which returns the address; New, with a function that opens the
// model; Serve, until its context ends; Reload to check the folder, in addition to the checks that Serve makes.
//
// Everything is bounded before it is trusted: connections, the time and the bytes of a request, its rows, and how many
// are answered at once. The package does not identify callers: any process with access to the address may ask.
package serve
