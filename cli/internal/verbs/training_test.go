package verbs

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/screen"
	"bellows/cli/internal/timing"
	"bellows/run"
	"bellows/train"
)

// TestAnInterruptedStartSaysSo explains an error of a start that was interrupted, and of one that was not.
func TestAnInterruptedStartSaysSo(t *testing.T) {
	t.Parallel()
	f, err := run.Claim(run.Request{Out: filepath.Join(t.TempDir(), "out")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	command := &training{folder: f}
	ctx, interrupt := context.WithCancel(t.Context())
	failed := errors.New("node 2 has not said where it listens")
	if err := command.explain(ctx, failed); err != failed {
		t.Errorf("before the interruption: %v", err)
	}
	interrupt()
	if err := command.explain(ctx, failed); bellows.KindOf(err) != bellows.Interrupted || err.Error() != "interrupted while the job was started: nothing was written" {
		t.Errorf("after it: %v", err)
	}
	if err := command.explain(ctx, nil); err != nil {
		t.Error(err)
	}
	if err := f.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := command.explain(ctx, failed); err != failed {
		t.Errorf("after the start: %v", err)
	}
}

// TestEpochsOfAll checks the total: the configured number, else the application's estimate.
func TestEpochsOfAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		told, expected int
		want           string
	}{{20, 0, " of 20"}, {20, 20, " of 20"}, {0, 70, " of about 70"}, {0, 0, ""}} {
		p := &epochs{training: &training{order: &order{opt: &trainOptions{epochs: c.told}}}}
		p.last.Number, p.last.Expected = 1, c.expected
		if got := p.ofAll(); got != c.want {
			t.Errorf("%d epochs told and %d expected: %q, not %q", c.told, c.expected, got, c.want)
		}
		p.last, p.made = train.Epoch{}, &app.Run{Expected: c.expected}
		if got := p.ofAll(); got != c.want {
			t.Errorf("before the first, %d epochs told and %d expected: %q, not %q", c.told, c.expected, got, c.want)
		}
	}
}

// TestResumedEpochCountsOnlyItsRest wants a share of what has begun from the live line, and no epoch over it.
func TestResumedEpochCountsOnlyItsRest(t *testing.T) {
	t.Parallel()
	s := timing.New(t.Context(), &screen.Console{Err: io.Discard, Out: io.Discard, JSON: true}, timing.Learning)
	defer s.Live.Stop()
	p := &epochs{training: &training{order: &order{opt: &trainOptions{}, about: app.Description{Unit: "rows"}}, stages: s, made: &app.Run{Items: 100}}}
	p.follow()
	if r := s.Meter.Read(); r.Doing != "epoch 1" || r.Total != 100 {
		t.Errorf("the meter says %+v", r)
	}
	p.stop(40)
	_ = s.Meter.Add(10)
	p.follow()
	if r := s.Meter.Read(); r.Doing != "finishing what has begun" || r.Total != 40 || r.Done != 10 || r.Unit != "rows" {
		t.Errorf("the meter says %+v", r)
	}
	p.stop(0)
	if r := s.Meter.Read(); r.Doing != "collecting the tables" {
		t.Errorf("the meter says %+v", r)
	}
}
