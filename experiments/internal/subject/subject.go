// Package subject makes the jobs that experiments train: an Order says which, so that one process can tell another to
// make the same.
//
// The caller's duty: Make a job for every run, since a run uses it up.
//
// The package refuses to stand in for a benchmark: data that it makes from a seed are as easy as they look. What
// an experiment measures on them is time, not how good a model is.
package subject

import (
	"context"
	"fmt"

	"bellows/app"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/data"
	"bellows/data/demo"
	"bellows/random"
)

// Order is a job as one process tells another to make it.
type Order struct {
	App       string            `json:"app"`             // mlr, linear, lda or mf
	Files     []string          `json:"files,omitempty"` // data; none: Size is made from a seed
	Size      int               `json:"size,omitempty"`  // mlr, linear: rows of 784 values; others: demonstrations, one after the other
	Epochs    int               `json:"epochs"`          // so many, and no early end
	Staleness int               `json:"staleness"`       // -1: async
	Slots     int               `json:"slots"`           // a hint for mf
	Settings  map[string]string `json:"settings"`        // of the application
}

// seed is that of data and jobs.
const seed = 1

// Make makes the job.
func (o Order) Make() (*app.Run, error) {
	for _, a := range []app.Application{mlr.New(), linear.New(), lda.New(), mf.New()} {
		if a.Describe().Name != o.App {
			continue
		}
		set, err := o.data(a.Describe().Data)
		if err != nil {
			return nil, err
		}
		in := app.Input{Data: set, Seed: seed, Epochs: o.Epochs, Slots: o.Slots, Staleness: &o.Staleness, Settings: o.Settings}
		run, err := a.NewRun(in)
		if err == nil && run.Job.Data == "" {
			run.Job.Data = in.Identity(run.Settings)
		}
		return run, err
	}
	return nil, fmt.Errorf("unknown application %q here: it must be mlr, linear, lda or mf", o.App)
}

// made holds the sets that this process has read or made; they are not changed.
var made = map[string]*data.Set{}

func (o Order) data(kind data.Kind) (*data.Set, error) {
	name := fmt.Sprint(kind, o.Files, o.Size)
	if set := made[name]; set != nil {
		return set, nil
	}
	set, err := o.read(kind)
	if err == nil {
		made[name] = set
	}
	return set, err
}

func (o Order) read(kind data.Kind) (*data.Set, error) {
	switch {
	case len(o.Files) > 0:
		return data.Read(context.Background(), o.Files, kind, data.Options{})
	case o.Size < 1:
		return nil, fmt.Errorf("data of size %d: it must be at least 1", o.Size)
	case kind == data.Examples:
		return images(o.Size), nil
	case kind == data.Documents:
		return documents(o.Size)
	case o.Size > 1:
		return nil, fmt.Errorf("ratings of size %d: there is one demonstration", o.Size)
	}
	return demo.Make(kind, seed)
}

// The shape of made images is that of MNIST.
const (
	features = 784
	classes  = 10
)

// images makes rows of values, each class around its own centre.
func images(rows int) *data.Set {
	r := random.Stream(seed)
	centre := make([]float32, classes*features)
	for i := range centre {
		centre[i] = float32(r.Uniform())
	}
	e := &data.ExampleSet{Features: features, Label: make([]float32, rows), Dense: make([]float32, rows*features)}
	for i := range rows {
		class := i % classes
		e.Label[i] = float32(class)
		for j := range features {
			e.Dense[i*features+j] = centre[class*features+j] + 4*float32(r.Uniform()-0.5)
		}
	}
	return &data.Set{Kind: data.Examples, Examples: e, Detected: data.Detection{Format: "generated", Rows: rows, Features: features, Classes: classes}}
}

// documents returns so many demonstrations, one after the other.
func documents(count int) (*data.Set, error) {
	all, err := demo.Make(data.Documents, seed)
	if err != nil {
		return nil, err
	}
	d := all.Documents
	for i := 1; i < count; i++ {
		next, err := demo.Make(data.Documents, seed+uint64(i))
		if err != nil {
			return nil, err
		}
		words := int64(len(d.Word))
		for _, end := range next.Documents.Offset[1:] {
			d.Offset = append(d.Offset, words+end)
		}
		d.Word, d.Count = append(d.Word, next.Documents.Word...), append(d.Count, next.Documents.Count...)
	}
	all.Detected.Rows, all.Detected.Tokens = all.Rows(), d.Tokens()
	return all, nil
}
