// Package history reads the event log of a run, during or after it, and proves by the log alone how often each item was
// visited. It also reads the lines that the run's processes have written.
//
// The caller's duties, in order:
//
//  1. Open a run folder, a file with the log, or a stream, and read lines with Next. At the end of what is written, Await
//     waits for more while a process writes the log.
//  2. Decode each line, or give it to a Verifier. Its method Conclude returns what the log proves.
//  3. Report what is wrong with a line by BadLine and Unproved, which name the line.
//
// The package changes nothing in a folder, and refuses to guess: a line that it cannot read, or a log that does not say how
// the run ended, is an error that names the line.
package history
