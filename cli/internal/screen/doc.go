// Package screen writes a command's output: data, messages, the table of a training run, the live line, JSON lines, and
// errors. Data go to one stream and messages to the other. With --json, JSON lines replace data. An error comes last,
// with its cause.
//
// The duties of a training command, in order: Table.Begin before it reads anything; Headline when it knows what it will do;
// Start and End around the training, with Add for each epoch and Sentence for what else happens; Close.
//
// The package refuses to write what a terminal would obey, other than its own live line: control characters in text that other
// processes or files have a part in are replaced.
package screen
