package app

import "bellows/model"

// Verb is a command that an application adds to those which every application has. It asks a saved model something:
// `PROGRAM NAME MODEL ARGS`.
type Verb struct {
	Name    string   // the word on the command line: "similar"
	Args    []string // what follows MODEL, as help names it: {"ITEM"}
	Short   string   // what it does, in one line of help
	Example string   // what may follow MODEL
	// Columns name the values of a row of the answer: titles for people, keys of JSON lines.
	Columns []string
	// Answer gives rows of as many values as there are columns: strings, whole numbers, finite floats, booleans.
	Answer func(m *model.Model, args []string) ([][]any, error)
}

// Asker is an application with verbs of its own. Where two applications of a program have verbs of one name, they are one
// command, with the same arguments and columns, and the model says who answers.
type Asker interface {
	Verbs() []Verb
}
