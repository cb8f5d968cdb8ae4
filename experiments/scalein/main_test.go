package main

import (
	"io"
	"os"
	"testing"

	"bellows/experiments/internal/report"
)

// TestMain lets the test's binary be the processes that an experiment starts.
func TestMain(m *testing.M) {
	report.Play(roles)
	os.Exit(m.Run())
}

// TestNodesLeaveWithWhatTheyHave runs the quick form in real processes, and wants both nodes to leave with their splits and partitions.
func TestNodesLeaveWithWhatTheyHave(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := plan{turns: 1, clocks: 2, first: 3, last: 1, program: program}
	o, err := p.run(&report.Run{Out: io.Discard, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	f := o.Figures.(figures)
	if len(f.Turns) != 1 || len(o.Pictures) != 1 || len(o.Pictures[0].Lines.Lines) != 2 {
		t.Fatalf("%+v", f)
	}
	x := f.Turns[0]
	if len(x.Exits) != 2 || x.Exits[0] > x.Exits[1] || x.Seconds != x.Exits[1] || x.Bytes == 0 || x.Steps < 8 || !(x.Copy > 0) || !(x.Again > 0) || !(x.Ratio > 0) || !(x.Splits > 0) || !(x.Partitions > 0) {
		t.Errorf("%+v", x)
	}
	if _, err := (&plan{turns: 1, clocks: 1, first: 2, last: 2}).run(&report.Run{Out: io.Discard}); err == nil {
		t.Error("a run without leaving nodes is no error")
	}
}
