// Package screen is what a command writes: data on one stream and talk on the other, JSON lines instead of data if asked for,
// the table of a training run, and an error with its cause last.
//
// The duties of a training command, in order: Table.Begin before it reads anything; Headline when it knows what it will do;
// Start and End around the training, with Add for each epoch and Sentence for what else happens; Close.
//
// The package refuses to write what a terminal would obey, other than its own live line: control characters in text that other
// processes or files have a part in are replaced.
package screen
