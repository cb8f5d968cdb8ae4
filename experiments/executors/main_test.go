package main

import (
	"io"
	"testing"

	"bellows/experiments/internal/report"
)

// TestEveryNumberHasItsRow runs the quick form for one turn.
func TestEveryNumberHasItsRow(t *testing.T) {
	p := plan{slots: 2, turns: 1}
	o, err := p.run(&report.Run{Out: io.Discard, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := o.Figures.([]row)
	if len(rows) != 2*len(counts) || len(o.Pictures) != 1 || len(o.Pictures[0].Lines.Lines) != 2 {
		t.Fatalf("%d rows and %d lines", len(rows), len(o.Pictures))
	}
	for i, x := range rows {
		at := i % len(counts)
		if x.Executors != counts[at] || x.Again != (at == len(counts)-1) || !(x.CPU.Median > 0 && x.Wall.Median > 0 && x.Seconds > 0) || x.CPU.Count != 1 {
			t.Errorf("row %d is %+v", i, x)
		}
		if at == 0 && (x.CPU.Median != 1 || x.Wall.Median != 1) {
			t.Errorf("beside itself the first number has %+v", x)
		}
	}
	if _, err := (&plan{slots: 1}).run(&report.Run{Out: io.Discard}); err == nil {
		t.Error("no turns are no error")
	}
}
