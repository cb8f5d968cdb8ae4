// Package scores measures how well a model does on labelled rows, for `eval`, and prints figures and confusions of
// classes.
//
// The caller's duties, in order: Begin and give Take to data.Stream, or where there is nothing to begin Examine all rows; make Classes of what is
// said; Print them below the metrics, which are the caller's to show.
//
// The package refuses to know metrics: names and values are the application's.
package scores

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"bellows/app"
	"bellows/cli/internal/screen"
	"bellows/data"
)

// Class is how well one class is told from the others.
type Class struct {
	Label     string   `json:"label"`
	Rows      int64    `json:"rows"`
	Precision float64  `json:"precision"`
	Recall    float64  `json:"recall"`
	F1        float64  `json:"f1"`
	AUC       *float64 `json:"auc,omitempty"`
}

// namesOf returns metrics that are asked for, none where that is left to the application.
func namesOf(metrics string) (names []string) {
	if metrics != "" {
		for m := range strings.SplitSeq(metrics, ",") {
			names = append(names, strings.TrimSpace(m))
		}
	}
	return names
}

// Examine scores the data by the metrics asked for, or by those that the application finds fit.
func Examine(p app.Predictor, set *data.Set, metrics string) (*app.Examination, error) {
	names := namesOf(metrics)
	if e, ok := p.(app.Examiner); ok {
		return e.Examine(set, names)
	}
	list, err := p.Evaluate(set)
	if err != nil {
		return nil, err
	}
	out, known := &app.Examination{}, []string(nil)
	for _, m := range list {
		known = append(known, m.Name)
		if names == nil || slices.Contains(names, m.Name) {
			out.Metrics = append(out.Metrics, m)
		}
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, app.UnknownMetric("the model", n, known...)
		}
	}
	return out, nil
}

// Tables of more classes than these are for programs: --json has them.
const (
	classesShown   = 100
	confusionShown = 16
)

// Classes returns the figures of the classes.
func Classes(of []app.ClassFigures) []Class {
	var out []Class
	for _, f := range of {
		r := Class{f.Label, f.Rows, f.Precision, f.Recall, f.F1, nil}
		if !math.IsNaN(f.AUC) {
			r.AUC = &f.AUC
		}
		out = append(out, r)
	}
	return out
}

// Print shows the figures of the classes, and of a few which are taken for which.
func Print(c *screen.Console, classes []Class, confusion [][]int64) {
	if len(classes) == 0 || c.JSON {
		return
	}
	if len(classes) > classesShown {
		c.Printf("\nfigures of %d classes are in --json\n", len(classes))
		return
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nclass\trows\tprecision\trecall\tf1\tauc")
	for _, f := range classes {
		auc := "-"
		if f.AUC != nil {
			auc = fmt.Sprintf("%.4f", *f.AUC)
		}
		fmt.Fprintf(table, "%s\t%d\t%.4f\t%.4f\t%.4f\t%s\n", f.Label, f.Rows, f.Precision, f.Recall, f.F1, auc)
	}
	table.Flush() // into memory
	if len(classes) <= confusionShown {
		fmt.Fprint(table, "\nrows of, said to be")
		for _, f := range classes {
			fmt.Fprint(table, "\t"+f.Label)
		}
		fmt.Fprintln(table)
		for k, row := range confusion {
			fmt.Fprint(table, classes[k].Label)
			for _, n := range row {
				fmt.Fprintf(table, "\t%d", n)
			}
			fmt.Fprintln(table)
		}
		table.Flush() // into memory
	}
	c.Printf("%s", text.String())
}
