package manual

import (
	"fmt"
	"strings"

	"bellows/cli/internal/line"
	"bellows/data"

	"github.com/spf13/pflag"
)

// QuickStart returns the first lines of the help of a training command, which suffice for a first run: what it trains
// and on what, a call that works, the folder of the model, and the three flags that are needed most.
func QuickStart(title, holds, call, model string, flags *pflag.FlagSet) string {
	first := "label"
	if f := flags.Lookup(first); f == nil || f.Hidden {
		first = "out"
	}
	lines := []string{
		title + ". DATA is a file with " + holds + ".",
		"", "  " + call, "",
		"The model goes to the folder " + model + ". The same command resumes an interrupted run.", "",
	}
	for _, name := range []string{first, "test", "set"} {
		heading, usage := line.Describe(flags.Lookup(name))
		lines = append(lines, fmt.Sprintf("  %-16s  %s", heading, usage))
	}
	return strings.Join(lines, "\n")
}

// TrainingData returns the details of a training command: what DATA may be, and how the columns of ratings are found.
func TrainingData(holds string, ratings bool) string {
	text := "DATA is one or more files, globs, URIs such as s3://bucket/name, or \"-\" for standard input. Each line has " +
		holds + ". The table of epochs goes to standard output."
	if !ratings {
		return text
	}
	user, item, rating := data.RatingColumns()
	text += "\n\nThe columns are user, item and rating in this order, or as a header names them. Letter case, blanks, - and _ " +
		"in names do not matter:\n"
	for _, column := range []struct {
		name  string
		known []string
	}{{"user", user}, {"item", item}, {"rating", rating}, {"time", data.TimeColumns()}} {
		text += fmt.Sprintf("\n  %-8s %s", column.name, strings.Join(column.known, " "))
	}
	return text + "\n\nThe column time is only for --holdout time. Other columns are not used."
}
