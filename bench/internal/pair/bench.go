package pair

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Bench is one run of a command: the flags that every command has, the table that its rows go to, and how it ends.
type Bench struct {
	*Table
	Full   bool // all sizes and more turns, minutes instead of seconds
	JSON   bool // one object a row
	Turns  int  // turns of each side in a comparison
	Strict bool // a row below its target ends the command with status 1
	// OpenBLAS names the kernels that peers on OpenBLAS are forced to use, by a core; "" leaves the choice to the library.
	OpenBLAS string
	Part     string // part of the Program that alone is wanted; "": all
}

// Main runs a command. It reads the flags, which the command has defined before, calls run, and prints how many rows
// missed their target. Quick and full are the turns that each form has by default.
//
// An error ends a command, as it ends a test: from Must or Check it unwinds to here, past deferred calls that stop children and
// remove files, and is printed. Errors that every function returns to its caller were turned down: none of them can do more.
// What runs on another goroutine, or can continue without its peer, still returns its error.
func Main(quick, full int, run func(b *Bench)) {
	b := new(Bench)
	b.define(flag.CommandLine)
	Exit(Attempt(func() {
		flag.Parse()
		b.run(flag.Args(), quick, full, run)
	}))
}

// run runs a measurement, prints how many of its rows missed their target, and fails for one that does where that counts.
func (b *Bench) run(rest []string, quick, full int, measure func(b *Bench)) {
	Check(b.settle(rest, quick, full))
	b.Table = NewTable(os.Stdout, b.JSON)
	measure(b)
	if b.rows > 0 {
		b.Close()
	}
	if b.Strict {
		Check(b.Verdict())
	}
}

// failure is an error on its way to Main.
type failure struct{ error }

// Must returns a value without its error, which ends the command.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check ends the command if there is an error.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Attempt returns the error that ended do, which may also be a part of a command that must clean up. Any other panic
// continues.
func Attempt(do func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = f.error
		}
	}()
	do()
	return nil
}

// Exit prints an error and ends the program with status 1; without an error it returns.
func Exit(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// Print prints the findings as JSON. An error, which may accompany a part of the findings, ends the command.
func Print(found any, err error) {
	text, e := json.MarshalIndent(found, "", "  ")
	if e == nil {
		fmt.Println(string(text))
	}
	Check(errors.Join(err, e))
}

// Interleave gives each side as many turns as the flags say.
func (b *Bench) Interleave(sides ...Side) []Series { return Interleave(b.Turns, sides...) }

// Race interleaves the sides, fills in the row's Ours from the first and its Peer from the second, if there is one, and adds it.
func (b *Bench) Race(row Row, sides ...Side) []Series {
	series := b.Interleave(sides...)
	row.Ours = series[0]
	if len(series) > 1 {
		row.Peer = series[1]
	}
	b.Add(row)
	return series
}

// Part is a part of a command that --only can choose.
type Part struct {
	Name string
	Run  func()
}

// Parts runs all parts, or the one that is named.
func (b *Bench) Parts(only string, parts ...Part) {
	var known []string
	for _, p := range parts {
		known = append(known, p.Name)
	}
	if only != "" {
		parts = slices.DeleteFunc(parts, func(p Part) bool { return p.Name != only })
	}
	if len(parts) == 0 {
		Check(fmt.Errorf("--only %s: no such part; known parts: %s", only, strings.Join(known, ", ")))
	}
	for _, p := range parts {
		p.Run()
	}
}
