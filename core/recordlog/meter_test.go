package recordlog

import (
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestMeterAgreesWithTail compares the meter with a tail at each record. If the job is saved whenever that is due, no record that it needs has left a bounded tail.
func TestMeterAgreesWithTail(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(3, 1))
	const most = 8 << 10
	m := Meter{Most: most}
	var unbounded, kept Log
	saved, saves, failed := bellows.CommitNumber(0), 0, false
	for n := bellows.CommitNumber(1); n < 5_000; n++ {
		r := wire.New[wire.Records]()
		if draw.IntN(5) == 0 {
			r.AppendControl(n, bellows.Control{Kind: bellows.MoveSplit, Split: bellows.SplitID(n), Node: 7})
		} else {
			r.Append(n, drawDone(draw, n))
		}
		m.Add(&r.List[0])
		unbounded.Add(r, 1<<30)
		kept.Add(r, most)
		wire.Free(r)
		if used := m.total - m.base; used != int64(unbounded.bytes) {
			t.Fatalf("record %d: it measures %d bytes, and a tail keeps %d", n, used, unbounded.bytes)
		}
		if kept.Oldest(n) > saved+1 {
			t.Fatalf("record %d is needed and was let go: the oldest is %d", saved+1, kept.Oldest(n))
		}
		if m.Due() {
			m.Mark(n)
			m.Asked()
			if failed = !failed && draw.IntN(2) > 0; !failed {
				saved, saves = n, saves+1
				m.Saved(n)
				unbounded.Forget(n + 1)
			}
		}
	}
	if saves < 20 {
		t.Errorf("it was saved %d times", saves)
	}
}

// TestMeterBoundsMarks saves many states and keeps only the last.
func TestMeterBoundsMarks(t *testing.T) {
	t.Parallel()
	m := Meter{Most: 100}
	r := wire.New[wire.Records]()
	r.AppendControl(1, bellows.Control{Kind: bellows.KeepTables})
	for n := range bellows.CommitNumber(3 * marksMost) {
		m.Add(&r.List[0])
		m.Mark(n)
	}
	if len(m.marks) != marksMost || cap(m.marks) > 2*marksMost {
		t.Errorf("%d marks in the memory of %d", len(m.marks), cap(m.marks))
	}
	m.Saved(3*marksMost - 1)
	if m.total != m.base || m.Due() {
		t.Errorf("of %d bytes %d are saved", m.total, m.base)
	}
}
