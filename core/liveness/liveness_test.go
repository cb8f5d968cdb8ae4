package liveness_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/core/liveness"
)

func TestLease(t *testing.T) {
	l := liveness.NewDetector(1000)
	l.Add(3, 0)
	l.Add(1, 500)
	if _, _, found := l.Expired(1000); found {
		t.Error("a lease ran out at its last moment")
	}
	if n, silent, found := l.Suspect(1000, 1000); found || n != 0 || silent != 0 {
		t.Errorf("suspected at the last moment: node %d silent %d, %v", n, silent, found)
	}
	if n, silent, found := l.Expired(1001); !found || n != 3 || silent != 1001 {
		t.Errorf("expired: node %d silent %d, %v", n, silent, found)
	}
	l.Beat(3, 1500)
	l.Beat(3, 1200) // a late beat takes nothing back
	if n, _, found := l.Expired(2400); !found || n != 1 {
		t.Errorf("expired: node %d, %v", n, found)
	}
	l.Beat(1, 2400)
	if n, _, found := l.Expired(2500); found {
		t.Errorf("node %d expired while it beat", n)
	}
}

func TestACallerThatSleptBlamesNobody(t *testing.T) {
	l := liveness.NewDetector(3000)
	l.Add(1, 0)
	l.Add(2, 0)
	for now := int64(500); now <= 2000; now += 500 {
		if slept := l.Tick(now); slept != 0 {
			t.Errorf("slept %d ms between ticks of 500", slept)
		}
		l.Beat(1, now)
	}
	if slept := l.Tick(60_000); slept != 58_000 {
		t.Errorf("slept %d ms", slept)
	}
	if n, _, found := l.Expired(60_900); found {
		t.Errorf("node %d is blamed for what the caller slept", n)
	}
	l.Tick(60_900)
	l.Beat(1, 61_000)
	if n, silent, found := l.Expired(61_100); !found || n != 2 || silent != 3100 {
		t.Errorf("expired: node %d silent %d, %v: what it was silent before counts", n, silent, found)
	}
	l.Remove(2)
	l.Add(1, 70_000) // has a lease already
	if n, _, found := l.Expired(64_001); !found || n != 1 {
		t.Errorf("expired: node %d, %v", n, found)
	}
}

func TestEverySilenceIsNamedOnce(t *testing.T) {
	l := liveness.NewDetector(10_000)
	for n := range bellows.NodeID(3) {
		l.Add(n, 0)
	}
	suspects := func(now int64) (list []bellows.NodeID) {
		for n, _, found := l.Suspect(now, 2000); found; n, _, found = l.Suspect(now, 2000) {
			list = append(list, n)
		}
		return list
	}
	l.Beat(1, 500)
	if got := suspects(2400); !slices.Equal(got, []bellows.NodeID{0, 2}) {
		t.Errorf("suspects %v", got)
	}
	if got := suspects(2600); !slices.Equal(got, []bellows.NodeID{1}) {
		t.Errorf("later, suspects %v", got)
	}
	l.Beat(0, 2700)
	if got := suspects(4800); !slices.Equal(got, []bellows.NodeID{0}) {
		t.Errorf("after a beat, suspects %v", got)
	}
}

// TestRemovedNodeLeavesOtherSilencesAlone forgets one node of three: what is known of the silence of the others
// stays.
func TestRemovedNodeLeavesOtherSilencesAlone(t *testing.T) {
	for forgotten := range bellows.NodeID(3) {
		l := liveness.NewDetector(10_000)
		for n := range bellows.NodeID(3) {
			l.Add(n, 0)
		}
		l.Beat(2, 1000)
		var named []bellows.NodeID
		for n, _, found := l.Suspect(2500, 2000); found; n, _, found = l.Suspect(2500, 2000) {
			named = append(named, n)
		}
		if want := []bellows.NodeID{0, 1}; !slices.Equal(named, want) {
			t.Fatalf("named are %v, want %v", named, want)
		}
		l.Remove(forgotten)
		l.Remove(forgotten) // and again
		n, silent, found := l.Suspect(3500, 2000)
		if found != (forgotten != 2) || found && (n != 2 || silent != 2500) {
			t.Errorf("without node %d: node %d, silent for %d ms, is named: %v", forgotten, n, silent, found)
		}
		if n, _, found := l.Suspect(3500, 2000); found {
			t.Errorf("without node %d: node %d is named again", forgotten, n)
		}
		l.Add(forgotten, 4000)
		l.Beat(forgotten, 4000)
		if n, _, found := l.Expired(10_000); found {
			t.Errorf("node %d is lost in the moment of its lease's end", n)
		}
		for want := range bellows.NodeID(2) {
			if want == forgotten {
				continue
			}
			if n, _, found := l.Expired(10_001); !found || n != want {
				t.Errorf("without node %d: node %d is lost, %v; want node %d", forgotten, n, found, want)
			}
			l.Remove(want)
		}
		if n, _, found := l.Expired(10_001); found {
			t.Errorf("without node %d: node %d is lost, too", forgotten, n)
		}
	}
}

// TestASilenceIsExcusedForTwoSeconds sleeps twice for more than a second with no beat in between: the first two seconds are the caller's, and
// what is beyond them the node's.
func TestASilenceIsExcusedForTwoSeconds(t *testing.T) {
	for _, c := range []struct{ first, second, lost int64 }{
		{1999, 5000, 1999 + 5000 + 3001}, // a moment less than all of it: the second sleep is excused, too
		{2000, 5000, 2000 + 3001},
		{9000, 5000, 9000 + 3001},
	} {
		l := liveness.NewDetector(3000)
		l.Add(1, 0)
		l.Tick(c.first)
		l.Tick(c.first + c.second)
		if _, _, found := l.Expired(c.lost - 1); found {
			t.Errorf("sleeps of %d and %d ms: lost before %d ms", c.first, c.second, c.lost)
		}
		if _, silent, found := l.Expired(c.lost); !found || silent != 3001 {
			t.Errorf("sleeps of %d and %d ms: at %d ms lost %v, silent for %d ms", c.first, c.second, c.lost, found, silent)
		}
	}
}

// TestTimesHaveDefaults holds each time to what its comment says, alone and where the lease is another; what is set stays.
func TestTimesHaveDefaults(t *testing.T) {
	want := liveness.Times{Lease: 2750, Broken: 1000, Complaint: 3000, Leader: 8250, Notice: 2000, Start: 20_000, Join: 60_000, Ready: 600_000,
		Task: 3_600_000, Answer: 600_000, End: 5500, Collect: 300_000, Tasks: 60_000}
	if got := (liveness.Times{}).Or(); got != want {
		t.Errorf("the defaults are %+v, want %+v", got, want)
	}
	want.Lease, want.Leader, want.End = 500, 1500, 1000
	if got := (liveness.Times{Lease: 500}).Or(); got != want {
		t.Errorf("with a lease of half a second they are %+v, want %+v", got, want)
	}
	all := liveness.Times{Lease: 1, Broken: 2, Complaint: 3, Leader: 4, Notice: 5, Start: 6, Join: 7, Ready: 8, Task: 9, Answer: 13, End: 10, Collect: 11, Tasks: 12}
	if got := all.Or(); got != all {
		t.Errorf("set were %+v, and they are %+v", all, got)
	}
}

// TestSilentNodeIsFoundInAnyRhythm ticks like callers that are quick, slow, unsteady, or sleep repeatedly. The node
// that fell silent must be found within the bound of the package's comment, and the one that beats must never be
// suspected. Beats that come between two ticks are reported before the second or after it, as they lie in the queue.
func TestSilentNodeIsFoundInAnyRhythm(t *testing.T) {
	const rounds = 2000
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 1))
		ttl := 1000 + rng.Int64N(12_000)
		quick, slow := 1+rng.Int64N(1500), 1+rng.Int64N(3*ttl)
		often := rng.Float64() // how often the caller is slow
		const alive, dead = 1, 2
		l := liveness.NewDetector(ttl)
		l.Add(alive, 0)
		l.Add(dead, 0)
		now, longest := int64(0), int64(0)
		silentFrom := rng.Int64N(5 * ttl)
		lastBeat := int64(0)
		for found := false; !found; {
			gap := 1 + rng.Int64N(quick)
			if rng.Float64() < often {
				gap = 1 + rng.Int64N(slow)
			}
			longest = max(longest, gap)
			now += gap
			beat := func() {
				l.Beat(alive, now)
				if now <= silentFrom {
					l.Beat(dead, now)
					lastBeat = now
				}
			}
			early := rng.IntN(2) == 0
			if early {
				beat()
			}
			l.Tick(now)
			for {
				n, _, expired := l.Expired(now)
				if !expired {
					break
				}
				if n == alive || now <= silentFrom {
					t.Fatalf("seed %d: at %d ms node %d is blamed, which was heard in every turn (lease %d ms)", seed, now, n, ttl)
				}
				l.Remove(n)
				found = true
			}
			if !early {
				beat()
			}
			if bound := ttl + 2000 + 2*longest; !found && now-lastBeat > bound {
				t.Fatalf("seed %d: %d ms after its last word the node is not found (lease %d ms, at most %d ms between ticks)",
					seed, now-lastBeat, ttl, longest)
			}
		}
	}
}
