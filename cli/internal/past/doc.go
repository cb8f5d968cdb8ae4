// Package past is what can be read of a run without its process: `events` prints its log, follows it, and proves by it alone how often
// each item was visited; `logs` what its processes have said.
//
// Its caller puts the Commands below the root of its program.
//
// The package changes nothing in a folder, and refuses to guess: a line that it cannot read, or a log that does not say how the run
// ended, is an error that names the line.
package past
