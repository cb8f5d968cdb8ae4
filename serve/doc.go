// Package serve answers questions for the predictions of one saved model over HTTP, and takes a newer one from the same folder without a pause.
//
// The caller's duties, in order: Limits.Check; Listen, which says where questions come; New, with a function that opens the model; Serve, until its context
// ends; Reload whenever somebody wants the folder looked at, beside the looks that Serve takes by itself.
//
// Everything is bounded before it is trusted: connections, the time and the bytes of a question, its rows, and how many are answered at once. The package
// refuses to know who asks: whoever reaches the address may ask.
package serve
