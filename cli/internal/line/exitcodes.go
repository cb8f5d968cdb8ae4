package main

import (
	"fmt"
	"strings"

	"bellows"

	"github.com/spf13/cobra"
)

// kindNames are the kinds of errors as JSON and `help exit-codes` name them.
var kindNames = map[bellows.Kind]string{
	bellows.Usage:       "usage",
	bellows.BadData:     "bad data",
	bellows.NoInput:     "missing input",
	bellows.Unavailable: "unavailable",
	bellows.Bug:         "bug",
	bellows.CannotWrite: "cannot write",
	bellows.IO:          "input/output",
	bellows.Lost:        "lost nodes",
	bellows.Refused:     "refused",
	bellows.Config:      "configuration",
	bellows.Interrupted: "interrupted",
}

var exitMeanings = []struct {
	kind    bellows.Kind
	meaning string
}{
	{bellows.Usage, "the command was called wrongly: an unknown flag, a missing argument"},
	{bellows.BadData, "an input or a model is malformed; the message has its place"},
	{bellows.NoInput, "an input or a model is missing or cannot be read"},
	{bellows.Unavailable, "a cluster or registry cannot be reached"},
	{bellows.Bug, "a defect of bellows"},
	{bellows.CannotWrite, "an output cannot be created"},
	{bellows.IO, "reading or writing failed midway"},
	{bellows.Lost, "ended by the loss of nodes; the same command goes on"},
	{bellows.Refused, "not allowed"},
	{bellows.Config, "a setting, an environment variable or the configuration file is invalid"},
	{bellows.Interrupted, "interrupted; the same command goes on"},
}

// exitCodesTopic is `bellows help exit-codes`.
func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("The exit codes of every command:\n\n    0  done\n")
	for _, e := range exitMeanings {
		fmt.Fprintf(&b, "  %3d  %-15s %s\n", e.kind.ExitCode(), kindNames[e.kind], e.meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "The exit codes of every command", Long: strings.TrimRight(b.String(), "\n")}
}
