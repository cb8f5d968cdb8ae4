package lease_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/lease"
)

func TestLease(t *testing.T) {
	l := lease.NewTable(1000)
	l.Add(3, 0)
	l.Add(1, 500)
	if _, _, found := l.Expired(1000); found {
		t.Error("a lease ran out at its last moment")
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
	l := lease.NewTable(3000)
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
	l := lease.NewTable(10_000)
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

// TestASilentNodeIsFoundWhateverTheRhythm ticks as callers do that are quick, slow, unsteady, or sleep again and again, and
// wants the node that fell silent found within the bound of the package's comment, and the one that beats never blamed.
// Beats that come between two ticks are reported before the second or after it, as they lie in the queue.
func TestASilentNodeIsFoundWhateverTheRhythm(t *testing.T) {
	const rounds = 2000
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 1))
		ttl := 1000 + rng.Int64N(12_000)
		quick, slow := 1+rng.Int64N(1500), 1+rng.Int64N(3*ttl)
		often := rng.Float64() // how often the caller is slow
		const alive, dead = 1, 2
		l := lease.NewTable(ttl)
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
