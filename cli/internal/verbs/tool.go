// Package verbs has the commands of a program that trains applications, one file for each: train, demo, eval, predict,
// model, bench, doctor and others. The others are the verbs that applications add, version and schema.
//
// Its caller makes a Tool with New and puts its Commands below the root of the program. A command reports on the
// console's data stream and returns an error, which the caller shows.
//
// The package knows applications by package app alone, and refuses two that go by one name.
package verbs

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/appcmd"
	"bellows/cli/internal/clusterverbs"
	"bellows/cli/internal/dryrun"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/cli/internal/splits"
	"bellows/cli/internal/watch"
	"bellows/data"

	"github.com/spf13/cobra"
)

// Tool is a program: its input and output, and what it can train, in the order of help. Its commands are made once and
// one of them is run, so it has no state between two: the state of a command is a value of its own (training,
// question). Applications are asked for their Description wherever it is needed, and must answer the same each time.
type Tool struct {
	*screen.Console
	apps  []app.Application
	added []*appcmd.Verb // by applications
}

// New makes the program, which must have an application, and no two applications or commands of one name: else the error is
// of kind Bug.
func New(c *screen.Console, apps ...app.Application) (*Tool, error) {
	t := &Tool{Console: c, apps: apps}
	wrong := func(format string, args ...any) (*Tool, error) {
		return nil, bellows.Errorf(bellows.Bug, "start", c.Name, format, args...)
	}
	if len(apps) == 0 {
		return wrong("there is no application")
	}
	words := line.Words(apps)
	for i, name := range words {
		if slices.Contains(words[:i], name) {
			return wrong("two applications are called %s", name)
		}
	}
	var err error
	if t.added, err = appcmd.Added(apps); err != nil {
		return wrong("%w", err)
	}
	taken := []string{"help", "completion", "exit-codes"}
	for _, cmd := range t.Commands() {
		if slices.Contains(taken, cmd.Name()) {
			return wrong("an application adds the verb %s, which is there already", cmd.Name())
		}
		taken = append(taken, cmd.Name())
	}
	return t, nil
}

// Commands returns the verbs of the program.
func (c *Tool) Commands() []*cobra.Command {
	list := []*cobra.Command{c.trainCommand(), c.evalCommand(), c.predictCommand(), c.serveModelCommand()}
	for _, v := range c.added {
		list = append(list, c.askCommand(v))
	}
	list = append(list, c.modelCommand(), c.reportCommand(), c.demoCommand(), c.benchCommand(), c.doctorCommand(), splits.Command(c.Console), dryrun.Command(c.Console), c.versionCommand(), c.schemaCommand())
	list = append(list, watch.RunCommands(c.Console, c.sample(0).model())...)
	list = append(list, clusterverbs.Commands(c.Console, c.names(), "train "+c.sample(0).Name+" "+c.sample(0).file)...)
	return append(list, watch.Commands(c.Console, c.sample(0).run(), clusterverbs.ClusterStatus)...)
}

// application returns the one of that name, or nil.
func (c *Tool) application(name string) app.Application {
	for _, a := range c.apps {
		if a.Describe().Name == name {
			return a
		}
	}
	return nil
}

// Descriptions returns those of the applications.
func (c *Tool) Descriptions() (list []app.Description) {
	for _, a := range c.apps {
		list = append(list, a.Describe())
	}
	return list
}

func (c *Tool) names() []string {
	var names []string
	for _, a := range c.apps {
		names = append(names, a.Describe().Name)
	}
	return names
}

// sample is what an example in a help text names: an application, and files of its kind of data. Examples are made of samples so
// that the help of a program of any application names that application and no other.
type sample struct {
	app.Description
	file, holds   string // DATA, and what is in it
	train, says   string // DATA with a flag that goes well with it, and what may be in it
	glob, goal    string // many files, and what --until may say if the application has the metric
	demo          string // what the demonstration gives
	labelled      string // a file for eval
	asked, answer string // files for predict, and for what it writes
	question      string // that predict answers
}

var samples = map[data.Kind]sample{
	data.Ratings: {file: "ratings.tsv", holds: "user, item, rating", train: "ratings.tsv", says: "user, item, rating",
		glob: "'ratings-*.csv'", goal: "test_rmse<=0.91", demo: "a recommender, trained on generated ratings", labelled: "held-out.tsv",
		asked: "pairs.tsv", answer: "ratings.txt", question: "what would they rate?"},
	data.Examples: {file: "rows.libsvm.gz", holds: "a label and its features", train: "digits.libsvm.gz --test held.gz", says: "any label, any features",
		glob: "'rows-*.csv'", goal: "test_accuracy>=0.9", demo: "a model of generated rows", labelled: "test.libsvm",
		asked: "rows.csv", answer: "labels.txt", question: "what are their labels?"},
	data.Documents: {file: "docword.news.txt.gz", holds: "a bag of words, or text, one document a line", train: "docword.news.txt.gz",
		says: "UCI bag of words, or plain text", glob: "'news-*.txt'", demo: "topics of generated documents", labelled: "held-out.txt",
		asked: "news.txt", answer: "topics.txt", question: "what are they about?"},
}

func sampleOf(d app.Description) sample {
	s := samples[d.Data]
	s.Description = d
	return s
}

// sample returns that of an application by its number, or of the last.
func (c *Tool) sample(i int) sample { return sampleOf(c.apps[min(i, len(c.apps)-1)].Describe()) }

// run returns the name of the application's first run, and model the folder that it is in.
func (s sample) run() string   { return s.Name + "-1" }
func (s sample) model() string { return "runs/" + s.run() }

// setting returns a hyperparameter with a value to show, or nothing where the application has none.
func (s sample) setting() string {
	switch {
	case len(s.Settings) == 0:
		return ""
	case s.Settings[0].Name == "rank":
		return " --set rank=64"
	}
	return " --set " + s.Settings[0].Name + "=" + s.Settings[0].Default
}

// until returns the goal, or nothing where the application does not measure it.
func (s sample) until() string {
	if at := strings.IndexAny(s.goal, "<>"); at < 0 || !slices.Contains(s.Metrics, s.goal[:at]) {
		return ""
	}
	return " --until '" + s.goal + "'"
}

// withRemarks writes each command and a remark after it, remarks below each other.
func withRemarks(gap int, lines ...[2]string) string {
	width := 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line[0]))
	}
	var out []string
	for _, line := range lines {
		out = append(out, fmt.Sprintf("%-*s# %s", width+gap, line[0], line[1]))
	}
	return strings.Join(out, "\n")
}

// Examples returns those of the program as a whole.
func (c *Tool) Examples() string {
	s := c.sample(0)
	return withRemarks(2,
		[2]string{"demo " + s.Name, s.demo},
		[2]string{"train " + s.Name + " " + s.file, "on your own file: " + s.holds},
		[2]string{"predict " + s.model() + " " + s.asked, s.question})
}
