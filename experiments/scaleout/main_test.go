//go:build soak

package main

import (
	"io"
	"testing"
	"time"

	"bellows/experiments/internal/report"
)

// TestTheQuickFormGrows runs it, and wants every job to have grown, to be slower than the ideal and faster than without more nodes.
func TestTheQuickFormGrows(t *testing.T) {
	t.Parallel()
	p := plan{cores: 1, splits: 2, start: 10 * time.Second, only: "mlr"}
	o, err := p.run(&report.Run{Out: io.Discard, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := o.Figures.([]row)
	if len(rows) != len(moments) || len(o.Pictures) != 1 || len(o.Pictures[0].Lines.Lines) != 3 {
		t.Fatalf("%d rows, and pictures %+v", len(rows), o.Pictures)
	}
	for _, x := range rows {
		m := x.Minutes
		if !(m.Asked < m.Moved && m.Moved < m.Actual && m.Ideal <= m.Actual && m.Actual < m.First && m.Last < m.Ideal) || x.Over < 0 || x.Shorter <= 0 {
			t.Errorf("%+v", x)
		}
		if len(x.Nodes) != 2 || x.Nodes[0].Splits != 2 || x.Nodes[0].Copied == 0 || x.Nodes[0].TakesPart-x.Nodes[0].Invited < p.start {
			t.Errorf("arrivals %+v", x.Nodes)
		}
	}
	if _, err := (&plan{cores: 1, splits: 1, only: "mf"}).run(&report.Run{Out: io.Discard, Quick: true}); err == nil {
		t.Error("an application that is none of the experiment's is no error")
	}
}

// TestProgressIsInBothDirections asks for times of parts of epochs, and for the parts of times.
func TestProgressIsInBothDirections(t *testing.T) {
	t.Parallel()
	p := progress{0, 10, 30, 60}
	for done, at := range map[float64]time.Duration{0: 0, 0.5: 5, 1: 10, 1.5: 20, 2.5: 45, 3: 60} {
		if got := p.timeOf(done); got != at {
			t.Errorf("%v epochs are done at %v; want %v", done, got, at)
		}
		if got := p.done(at); got != done {
			t.Errorf("at %v %v epochs are done; want %v", at, got, done)
		}
	}
}
