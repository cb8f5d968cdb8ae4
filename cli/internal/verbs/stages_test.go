package verbs

import (
	"bytes"
	"math"
	"testing"
	"time"

	"bellows/cli/internal/screen"
)

// TestStagesAreAllOfTheTime goes through stages, some more than once, with a clock of its own: their seconds are those of the whole, at any moment.
func TestStagesAreAllOfTheTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	c := &screen.Console{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, JSON: true, Began: now}
	s := newStages(t.Context(), c, starting, reading, preparing, learning, scoring, saving)
	defer s.live.Stop()
	s.now, s.since = func() time.Time { return now }, now
	want := map[stage]float64{starting: 0, reading: 0, preparing: 0, learning: 0, scoring: 0, saving: 0}
	in, all := starting, 0.0
	for i, next := range []stage{reading, preparing, learning, learning, saving, scoring, saving} {
		pass := float64(i+1) / 4
		now = now.Add(time.Duration(pass * float64(time.Second)))
		want[in] += pass
		all += pass
		if i%2 == 0 { // a look changes nothing
			s.timing()
		}
		s.enter(next)
		in = next
	}
	got := s.timing()
	sum := 0.0
	for name, seconds := range want {
		if math.Abs(got.Stages[name]-seconds) > 1e-9 {
			t.Errorf("%s took %v s, not %v", name, got.Stages[name], seconds)
		}
		sum += got.Stages[name]
	}
	if len(got.Stages) != len(want) || math.Abs(got.Wall-all) > 1e-9 || math.Abs(got.Wall-sum) > 1e-9 {
		t.Errorf("%+v: %v s in all, and %v by stages", got, all, sum)
	}
}
