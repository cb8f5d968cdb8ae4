// Command bellows trains machine-learning models: one file in, a table of losses and a model out.
//
// There is one file per verb. What a command reports is written to standard output; everything
// that is said about it (progress, hints, warnings, errors) goes to standard error. README.md and
// `bellows help` say what there is.
package main

import "os"

func main() {
	os.Exit(execute(&console{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.Args[1:]))
}
