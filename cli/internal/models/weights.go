package models

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bellows"
	"bellows/app/examples"
	"bellows/app/export"
	"bellows/cli/internal/screen"
	"bellows/figures"
	"bellows/model"
)

// topMost bounds --top, and classesShown is of how many classes people are shown weights.
const (
	topMost      = 1_000_000
	classesShown = 10
)

// sortedAtOnce is how many weights beyond twice --top are gathered before the smaller half is left out.
const sortedAtOnce = 1 << 12

// weightsReport is what `model show` says of the weights of a linear or mlr model.
type weightsReport struct {
	NonZero int64         `json:"nonzero"`
	Of      int64         `json:"of"`
	Used    int           `json:"used"` // features of which some weight is not 0
	Classes []classReport `json:"classes"`
}

// classReport is the largest weights of a class, by their size.
type classReport struct {
	Label string         `json:"label"` // "" where a number is predicted; of two classes with one score, that of positive scores
	Top   []weightReport `json:"top"`
}

type weightReport struct {
	Feature string   `json:"feature"`         // its name, or its number as the data has it
	Names   []string `json:"names,omitempty"` // of the vocabulary, whose hash is that number
	More    int      `json:"more,omitempty"`  // how many other names have it, too
	Weight  float32  `json:"weight"`

	number int32 // of the feature in the data, from 0
}

// weights returns the largest weights of features; nil for models without weights of features.
func (s *showing) weights(ctx context.Context, dir string, m *model.Model) (*weightsReport, error) {
	f, err := export.FeaturesOf(m)
	if err != nil {
		return nil, err
	}
	if f == nil {
		if s.vocabulary != "" {
			_, err = s.recover(ctx, dir, m, false, nil)
		}
		return nil, err
	}
	r := &weightsReport{Of: int64(len(f.Weights)), Classes: []classReport{}}
	used := make([]bool, f.Width)
	for i, w := range f.Weights {
		if w != 0 {
			r.NonZero++
			used[i%f.Width] = true
		}
	}
	for _, u := range used {
		if u {
			r.Used++
		}
	}
	labels := f.Rows
	if labels == nil {
		labels = []string{""}
		if two := m.Names(examples.LabelsFile); len(two) == 2 {
			labels = two[1:]
		}
	}
	for c, label := range labels {
		r.Classes = append(r.Classes, classReport{label, s.largest(f, f.Weights[c*f.Width:(c+1)*f.Width])})
	}
	if s.vocabulary == "" {
		return r, nil
	}
	return r, s.name(ctx, dir, m, r)
}

// name finds the names of the weights that are shown.
func (s *showing) name(ctx context.Context, dir string, m *model.Model, r *weightsReport) error {
	var asked []int32
	for _, class := range r.Classes {
		for _, w := range class.Top {
			asked = append(asked, w.number)
		}
	}
	found, err := s.recover(ctx, dir, m, true, asked)
	if err != nil {
		return err
	}
	for _, class := range r.Classes {
		for i, w := range class.Top {
			class.Top[i].Names, class.Top[i].More = found.names[w.number], found.more[w.number]
		}
	}
	return nil
}

// largest returns the weights of a row that are largest by their size, without zeros.
func (s *showing) largest(f *export.Features, row []float32) []weightReport {
	size := func(j int32) float64 { return math.Abs(float64(row[j])) }
	var order []int32
	sort := func() {
		slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a, b)) })
		order = order[:min(s.top, len(order))]
	}
	for j, w := range row {
		if w == 0 {
			continue
		}
		if order = append(order, int32(j)); len(order) > 2*s.top+sortedAtOnce {
			sort()
		}
	}
	sort()
	top := []weightReport{}
	for _, j := range order {
		top = append(top, weightReport{Feature: nameOf(f, j), Weight: row[j], number: numberOf(f, j)})
	}
	return top
}

// numberOf returns the feature of a column in the data, from 0.
func numberOf(f *export.Features, j int32) int32 {
	if f.Numbers != nil {
		return f.Numbers[j]
	}
	return j
}

// nameOf returns a column's name, or its number as the data has it.
func nameOf(f *export.Features, j int32) string {
	if f.Names != nil {
		return f.Names[j]
	}
	return strconv.Itoa(int(numberOf(f, j)) + f.Base)
}

func (r *weightsReport) print(c *screen.Console) {
	c.Printf("\nweights\n  %s of %s are not 0 (%.3g %%), of %s\n", figures.Grouped(r.NonZero), figures.Grouped(r.Of), 100*float64(r.NonZero)/float64(max(1, r.Of)), figures.Plural(r.Used, "feature"))
	for i, class := range r.Classes {
		if i == classesShown {
			c.Printf("  … and of %s more; --json has them all\n", figures.Plural(len(r.Classes)-i, "class"))
			break
		}
		if class.Label != "" {
			c.Printf("  for %q\n", class.Label)
		}
		for _, w := range class.Top {
			name, more := w.Feature, ""
			if w.Names != nil {
				name += " = " + strings.Join(w.Names, " or ")
			}
			if w.More > 0 {
				more = fmt.Sprintf(", or %d more", w.More)
			}
			c.Printf("    %12.6g  %s%s\n", w.Weight, bellows.Printable(name, nameMost), more)
		}
	}
}

// nameMost is how many bytes of a name a line shows.
const nameMost = 200
