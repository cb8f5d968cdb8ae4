package line

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"bellows"
	"bellows/data"

	"github.com/spf13/cobra"
)

// kinds are the kinds of errors as JSON and `help exit-codes` name them, in the order of their codes.
var kinds = []struct {
	kind    bellows.Kind
	name    string
	meaning string
}{
	{bellows.Usage, "usage", "the command was called wrongly: an unknown flag, a missing argument"},
	{bellows.BadData, "bad data", "an input or a model is malformed; the message has its place"},
	{bellows.NoInput, "missing input", "an input or a model is missing or cannot be read"},
	{bellows.Unavailable, "unavailable", "a cluster or registry cannot be reached"},
	{bellows.Bug, "bug", "a defect of bellows"},
	{bellows.CannotWrite, "cannot write", "an output cannot be created"},
	{bellows.IO, "input/output", "reading or writing failed midway"},
	{bellows.Lost, "lost nodes", "nodes were lost; the same command resumes from the last checkpoint"},
	{bellows.Refused, "refused", "not allowed"},
	{bellows.Config, "configuration", "a setting, a variable or the configuration file is invalid"},
	{bellows.Interrupted, "interrupted", "ended by Ctrl-C, SIGTERM or SIGHUP; the same command resumes"},
}

// KindName returns a kind as JSON has it.
func KindName(kind bellows.Kind) string {
	for _, k := range kinds {
		if k.kind == kind {
			return k.name
		}
	}
	return ""
}

// ExitCodes returns the help topic `exit-codes` of a program of that name.
func ExitCodes(program string) *cobra.Command {
	var b strings.Builder
	b.WriteString("The exit codes of every command:\n\n    0  done\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %3d  %-15s %s\n", k.kind.ExitCode(), k.name, strings.ReplaceAll(k.meaning, "bellows", program))
	}
	return &cobra.Command{Use: "exit-codes", Short: "The exit codes of every command", Long: strings.TrimRight(b.String(), "\n")}
}

// KindOf returns the kind of any error that a command ends with.
func KindOf(err error) bellows.Kind {
	var bad *data.Error
	var cause *bellows.Error
	switch {
	case errors.As(err, &bad) && errors.As(bad.Err, &cause): // what the store of a blob says
		return cause.Kind
	case errors.As(err, &bad) && (errors.Is(err, fs.ErrNotExist) || errors.As(err, new(syscall.Errno))): // it cannot be opened
		return bellows.NoInput
	case errors.As(err, &bad):
		return bellows.BadData
	case errors.Is(err, context.Canceled):
		return bellows.Interrupted
	}
	return bellows.KindOf(err)
}
