package main

import (
	"io"
	"testing"

	"bellows/experiments/internal/report"
)

// TestQuickFormHasEveryFigure plays a small grid. Every figure must be there, and no choice may take twice the best time.
func TestQuickFormHasEveryFigure(t *testing.T) {
	none := ""
	p := plan{nodes: 4, splits: 12, only: "mlr", files: map[string]*string{"mlr": &none, "lda": &none, "mf": &none}}
	o, err := p.run(&report.Run{Out: io.Discard, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	f := o.Figures.(figures)
	if len(f.Grids) != 1 || len(o.Pictures) != 1 || len(o.Pictures[0].Lines.Lines) != 4 {
		t.Fatalf("%+v, %d pictures", f, len(o.Pictures))
	}
	g := f.Grids[0]
	if len(g.Cells) != 4 || g.Best.Both != 0 || g.Link <= 0 || g.Errors.Count != 9 || !(g.Errors.Median > 0) {
		t.Errorf("%+v", g)
	}
	for _, s := range g.Starts {
		if len(s.Predicted) != 4 || s.Apart.Both != 0 || s.Apart.Workers+s.Apart.Servers > 4 || s.Apart.OfBest < 0.5 || s.Any.OfBest < 0.5 {
			t.Errorf("from %v: %+v", s.From, s)
		}
	}
	p.only = "none"
	if _, err := p.run(&report.Run{Out: io.Discard, Quick: true}); err == nil {
		t.Error("a job that is none of the experiment's is no error")
	}
}

// TestWrongShapesAreCompared compares two jobs. Each is slow in the best shape of the other one.
func TestWrongShapesAreCompared(t *testing.T) {
	few, many := counts{Workers: 1, Servers: 3}, counts{Workers: 3, Servers: 1}
	got := wrongShapes([]grid{
		{Job: "a", Best: few, Cells: []cell{{few, 2}, {many, 3}}},
		{Job: "b", Best: many, Cells: []cell{{few, 8}, {many, 4}}},
	})
	if len(got) != 2 || got[0] != (wrong{"a", "b", many, 1.5}) || got[1] != (wrong{"b", "a", few, 2}) {
		t.Errorf("%+v", got)
	}
	if d := deviationsOf([]float64{0.3, 0.1, 0.2}); d.Median != 0.2 || d.NineTenths != 0.3 {
		t.Errorf("%+v", d)
	}
}
