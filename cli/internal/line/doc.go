// Package line parses the command line: flags and their sources, suggestions for unknown words, the layout of help, and
// exit codes. It knows no command and no application.
//
// Its caller, in order: builds commands with Choose, Exactly and AtLeastOne; calls Lay on the root, when the tree is whole;
// calls Fill before a command runs; and ends the process with the ExitCode of the KindOf its error.
//
// The package refuses what it does not know, with the nearest that it does.
package line
