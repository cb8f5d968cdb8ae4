//go:build soak

package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/experiments/internal/report"
)

// TestMain lets the test's binary be the processes that an experiment starts.
func TestMain(m *testing.M) {
	report.Play(roles)
	os.Exit(m.Run())
}

// TestEveryWayEndsWithAllEpochs runs the quick form in real processes.
func TestEveryWayEndsWithAllEpochs(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := plan{turns: 1, item: 100 * time.Microsecond, epochs: 60, app: "mlr", program: program}
	o, err := p.run(&report.Run{Out: io.Discard, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	f := o.Figures.(figures)
	late := 0 // a slow machine starts processes when the job is over
	for _, x := range f.Turns {
		if x.Late {
			late++
		}
	}
	if len(f.Turns) != len(ways) || len(f.Over) != 2-late || len(f.Checked) < 2 || len(o.Pictures[0].Lines.Lines) != len(ways) {
		t.Fatalf("%+v", f)
	}
	for _, x := range f.Turns {
		for i, at := range x.Epochs {
			if i > 0 && at < x.Epochs[i-1] {
				t.Errorf("%s: epoch %d ends before its predecessor", x.Way, i+1)
			}
		}
	}
	for _, c := range f.Checked {
		if !(c.Measured > 0 && c.Predicted > 0) {
			t.Errorf("%+v", c)
		}
	}
}

// TestTheFullestNodeGivesItsLast deals splits out to two more workers.
func TestTheFullestNodeGivesItsLast(t *testing.T) {
	t.Parallel()
	now := []bellows.NodeID{1, 1, 1, 1, 2, 2, 2, 2}
	for i, want := range []int{7, 3, 6, 2} {
		s := last(now)
		if s != want {
			t.Fatalf("step %d gives %d of %v; want %d", i, s, now, want)
		}
		now[s] = bellows.NodeID(3 + i/2)
	}
}

// TestInvalidRunsAreRefused by the name of the mistake.
func TestInvalidRunsAreRefused(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]plan{"app": {turns: 1, epochs: 9, app: "svm"}, "0 turns": {epochs: 9, app: "mlr"}} {
		if _, err := p.run(&report.Run{Out: io.Discard}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in the error, got %v", want, err)
		}
	}
	l := led{}
	if err := l.lead(strings.NewReader(""), io.Discard); err == nil {
		t.Error("a job of no application is no error")
	}
}
