package main

import (
	"io"
	"testing"

	"bellows/experiments/internal/report"
)

// TestQuickFormHasEveryFigure plays a small grid. Every figure must be there, and no choice may take twice the best time.
func TestQuickFormHasEveryFigure(t *testing.T) {
	none := ""
	p := plan{nodes: 4, splits: 12, step: 1, only: "mlr", parts: "grid", files: map[string]*string{"mlr": &none, "lda": &none, "mf": &none}}
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

// TestNodesThatComeAndAreUnlike plays both with a small job. A job on twice the nodes takes less time, and the search
// is no worse than where it began.
func TestNodesThatComeAndAreUnlike(t *testing.T) {
	none := ""
	p := plan{nodes: 8, splits: 32, step: 1, only: "mlr", parts: "grow,unlike", files: map[string]*string{"mlr": &none, "lda": &none, "mf": &none}}
	o, err := p.run(&report.Run{Out: io.Discard, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	f := o.Figures.(figures)
	if len(f.Grids) != 0 || len(f.Grown) != 2 || len(f.Unlike) != 1 {
		t.Fatalf("%+v", f)
	}
	for _, g := range f.Grown {
		if nodes := g.Many.Workers + g.Many.Servers + g.Many.Both; nodes <= 4 || nodes > 8 || g.Ratio > 0.8 || g.Ratio < 0.25 || g.Apart && g.Many.Both > 0 {
			t.Errorf("%+v", g)
		}
	}
	u := f.Unlike[0]
	if u.Plays > 6 || u.BestTime > u.Seconds || u.From.Slow.Workers+u.From.Slow.Servers != 7 || u.OfBest < 0.5 || !(u.After > 0) || u.Chosen.Fast == (counts{}) {
		t.Errorf("%+v", u)
	}
}

// TestNeighboursOfAMixtureKeepItsNodes counts the nodes of all neighbours. None is without workers or servers.
func TestNeighboursOfAMixtureKeepItsNodes(t *testing.T) {
	x := mixture{counts{Workers: 6, Servers: 1}, counts{Workers: 1}, even, even}
	list := x.neighbours()
	for _, y := range list {
		if s, f := y.Slow, y.Fast; s.Workers+s.Servers != 7 || f.Workers+f.Servers != 1 || s.Servers+f.Servers == 0 || y == x || y.Splits < even/2 {
			t.Errorf("%v", y)
		}
	}
	if len(list) < 6 || times(8, 28, 2, 14) != twice || times(0, 28, 0, 14) != even {
		t.Errorf("%d neighbours: %v; %d", len(list), list, times(8, 28, 2, 14))
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
