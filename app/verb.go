package app

import (
	"io"
	"strconv"

	"bellows"
	"bellows/data"
	"bellows/model"
)

// Verb is a command that an application adds to those which every application has. It asks a saved model something:
// `PROGRAM NAME MODEL ARGS --FLAG VALUE`.
type Verb struct {
	Name    string   // the word on the command line: "similar"
	Args    []string // what follows MODEL, as help names it: {"ITEM"}
	Flags   []Flag
	Short   string // what it does, in one line of help
	Long    string // the rest of its explanation, which `help NAME` prints; "": none
	Example string // what may follow MODEL
	// Columns name the values of a row of the answer: titles for people, keys of JSON lines.
	Columns []string
	// Answer gives rows of as many values as there are columns: strings, whole numbers, finite floats, booleans.
	Answer func(q *Question) ([][]any, error)
}

// Flag is a flag of a verb. Its value is text, which the application reads.
type Flag struct {
	Name    string // "user": --user
	Value   string // the name of the value in help, which Usage has too: "USER"
	Default string
	Usage   string // what it does, in one line of help
	Many    bool   // it may be given again
}

// Question is what a verb is asked.
type Question struct {
	Model *model.Model
	Args  []string            // after MODEL, as many as Verb.Args
	Flags map[string][]string // those that were given, and the defaults of others that have one
	// Read reads a file as eval reads data. Its rows may lack what is predicted.
	Read func(file string, kind data.Kind) (*data.Set, error)
	// Open opens a file as it is, "-" for standard input.
	Open func(file string) (io.ReadCloser, error)
	// Note prints something in addition to the answer.
	Note func(format string, args ...any)
}

// Flag returns the value of a flag, or nothing.
func (q *Question) Flag(name string) string {
	if values := q.Flags[name]; len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// Top returns the flag --top of verbs that list the best of many; Question.Top reads it.
func Top() Flag {
	return Flag{Name: topFlag, Value: "NUMBER", Default: "10", Usage: "largest NUMBER of rows"}
}

const (
	topFlag = "top"
	topMost = 1_000_000
)

// Top returns the value of the flag that Top describes.
func (q *Question) Top() (int, error) {
	n, err := strconv.Atoi(q.Flag(topFlag))
	if err != nil || n < 1 || n > topMost {
		return 0, bellows.Errorf(bellows.Usage, "set", "--top="+q.Flag(topFlag), "it must be a whole number from 1 to %d", topMost)
	}
	return n, nil
}

// Asker is an application with verbs of its own. Where two applications of a program have verbs of one name, they are one
// command, with the same arguments and columns, and the model says who answers. Flags may be those of one of them alone.
type Asker interface {
	Verbs() []Verb
}
