// Package cli makes a command-line program of any applications (package app); cli/internal/verbs has the commands. The
// program has train, eval, predict, demo, status and top, model, bench, doctor and the rest, with resumed runs, jobs in
// several processes, JSON lines and help.
//
// An author's duties, in order:
//
//  1. Write the application: a type with Describe, NewRun and Open (package app).
//  2. Call Main with it in main, before anything else reads the command line or standard input: a job in several processes
//     starts this program again, and tells each copy on its standard input what it is to be.
//  3. Say more where there is more to say: app.Teller puts lines into `model show`, app.Asker adds verbs.
//  4. Test the program with scripts (package clitest).
//
// The package refuses two applications, or commands, of one name. It trains nothing itself: the applications say what is computed, and
// package node runs it.
package cli

import (
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"bellows/app"
	"bellows/cli/internal/screen"
)

// Main runs the command line, with the applications in the order in which help lists them, and ends the process with an
// exit code of `help exit-codes`. The program has the name of its file.
func Main(apps ...app.Application) {
	var out io.Writer = os.Stdout
	if closedAtStart(os.Stdout, os.Stdin, os.Stderr) {
		out = closedStream
	}
	c := &screen.Console{In: os.Stdin, Out: out, Err: os.Stderr, Name: filepath.Base(os.Args[0]), Called: called(os.Args[0]), Args: os.Args[1:], Began: time.Now()}
	os.Exit(execute(c, apps...))
}

// called returns what a user gives a shell to start this program again, which was started by that word: `go run`
// starts one that is gone afterwards.
func called(word string) string {
	if dir := filepath.Dir(word); filepath.Base(dir) == "exe" && strings.Contains(dir, "go-build") {
		if info, ok := debug.ReadBuildInfo(); ok {
			return "go run " + screen.ShellWord(info.Path)
		}
	}
	return screen.ShellWord(word)
}
