package timing

import (
	"bytes"
	"math"
	"testing"
	"time"

	"bellows/cli/internal/screen"
)

// TestStagesAreAllOfTheTime goes through stages, some more than once, with a clock of its own: their seconds always add
// up to the whole.
func TestStagesAreAllOfTheTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	c := &screen.Console{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, JSON: true, Began: now}
	s := New(t.Context(), c, Starting, Reading, Preparing, Learning, Scoring, Saving)
	defer s.Live.Stop()
	s.now, s.since = func() time.Time { return now }, now
	want := map[Stage]float64{Starting: 0, Reading: 0, Preparing: 0, Learning: 0, Scoring: 0, Saving: 0}
	in, all := Starting, 0.0
	for i, next := range []Stage{Reading, Preparing, Learning, Learning, Saving, Scoring, Saving} {
		pass := float64(i+1) / 4
		now = now.Add(time.Duration(pass * float64(time.Second)))
		want[in] += pass
		all += pass
		if i%2 == 0 { // a look changes nothing
			s.Timing()
		}
		s.Enter(next)
		in = next
	}
	got := s.Timing()
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
