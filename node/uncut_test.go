package node_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/node"
	"bellows/node/archive"
	"bellows/port/blob/mem"
	"bellows/table"
	"bellows/train"
)

// archiveOf returns an archive of a job's tables.
func archiveOf(t *testing.T, s *mem.Store, j train.Job) *archive.Archive {
	t.Helper()
	a, err := archive.Open(s, archive.ID{1}, j.Tables)
	require.NoError(t, err)
	return a
}

// TestCutWithoutManifestIsDropped fails the first manifest: the failure is reported by name, the job continues, and the
// next cut is complete.
func TestCutWithoutManifestIsDropped(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	var mu sync.Mutex
	failed := ""
	s.Fail = func(op, name string) error {
		mu.Lock()
		defer mu.Unlock()
		if op == "create" && strings.HasPrefix(name, "cuts/") && (failed == "" || failed == name) {
			failed = name
			return errors.New("no room by the test")
		}
		return nil
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	a := archiveOf(t, s, job(1, drift))
	said, cuts := "", 0
	_, err := node.Train(ctx, job(1<<20, drift), node.Options{Slots: 2, Lanes: 2, Notice: func(sentence string) { said += sentence + "\n" },
		Era: 1, Checkpoints: &node.Checkpoints{Archive: a, Every: time.Millisecond, OnCut: func(node.Checkpoint) {
			cuts++
			stop()
		}}})
	if err != nil || cuts == 0 || failed == "" || !strings.Contains(said, "was given up") || !strings.Contains(said, "no room by the test") {
		t.Errorf("%d cuts, %q failed, %q was said: %v", cuts, failed, said, err)
	}
	if m, _, err := a.Latest(t.Context()); err != nil || m == nil {
		t.Errorf("the next is not there: %v", err)
	}
}

// TestAStalledStoreKeepsNobody makes a store that does not answer: the job trains to its end, which waits for the store for some seconds only.
func TestAStalledStoreKeepsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, answer, asked := mem.New("a"), make(chan struct{}), make(chan struct{})
		var once sync.Once
		s.Fail = func(op, _ string) error {
			if op == "create" {
				once.Do(func() { close(asked) })
				<-answer
			}
			return nil
		}
		const rounds = 40
		slow := func(t *train.Task) error {
			if t.Clock() == rounds-1 { // not over before the store stalls
				<-asked
			}
			<-time.After(time.Millisecond)
			return drift(t)
		}
		began := time.Now()
		r, err := node.Train(t.Context(), job(rounds, slow), node.Options{Lanes: 2, Era: 1, Checkpoints: &node.Checkpoints{Archive: archiveOf(t, s, job(1, drift)), Every: 5 * time.Millisecond,
			OnCut: func(c node.Checkpoint) { t.Errorf("%+v", c) }}})
		took := time.Since(began)
		if err != nil || r == nil || took < 3*time.Second || took > 5*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		close(answer)
	})
}

// TestShardsAreWrittenTogether makes a disk that takes a while to make a shard last: as many as are worth it are written meanwhile, and the manifest when no other is.
func TestShardsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := mem.New("a")
		var mu sync.Mutex
		now, most, beside := 0, 0, 0
		s.Fail = func(op, name string) error {
			shard := strings.HasPrefix(name, "shards/")
			mu.Lock()
			if !shard {
				beside = max(beside, now)
			}
			if op != "publish" || !shard {
				mu.Unlock()
				return nil
			}
			now++
			most = max(most, now)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			defer mu.Unlock()
			now--
			return nil
		}
		slow := func(t *train.Task) error {
			<-time.After(time.Millisecond)
			return drift(t)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		a := archiveOf(t, s, job(1, drift))
		_, err := node.Train(ctx, job(1<<20, slow), node.Options{Lanes: 2, Era: 1, Checkpoints: &node.Checkpoints{Archive: a, Every: time.Second, OnCut: func(node.Checkpoint) { stop() }}})
		if m, _, wrong := a.Latest(t.Context()); err != nil || wrong != nil || m == nil || len(m.Shards) < archive.Together || most != archive.Together || beside > 0 {
			t.Errorf("%d shards are written at a time, and %d during a manifest, of %+v: %v, %v", most, beside, m, err, wrong)
		}
	})
}

// TestANodeWithoutAPlaceCutsNothing makes a node that was given no place for checkpoints: each is given up, which names it, and the job ends as it would.
func TestANodeWithoutAPlaceCutsNothing(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said := ""
	r, errs, err := gang{members: []node.Member{{Lanes: 1}, {Node: 1, Slots: 1, Lanes: 1}}, job: func(bellows.NodeID) train.Job { return job(1<<20, drift) },
		lead: node.Options{
			Notice: func(sentence string) {
				if said += sentence + "\n"; strings.Contains(said, "given up") {
					stop()
				}
			},
			Era: 1, Checkpoints: &node.Checkpoints{Archive: archiveOf(t, mem.New("a"), job(1, drift)), Every: time.Millisecond, OnCut: func(c node.Checkpoint) {
				t.Errorf("%+v", c)
			}}}}.run(ctx, t)
	if err = errors.Join(append(errs, err)...); err != nil || r == nil || !strings.Contains(said, "node 1 has no place for checkpoints") {
		t.Errorf("%q was said: %v", said, err)
	}
}

// TestUnchangedPartitionsAreNotRewritten changes a table in the first clock only: a later cut takes its partitions from
// an earlier one, and a job resumes with them.
func TestUnchangedPartitionsAreNotRewritten(t *testing.T) {
	t.Parallel()
	once := func(rounds int) train.Job {
		j := job(rounds, func(t *train.Task) error {
			if t.Clock() == 0 {
				t.PushRange(1, bellows.RowID(t.Split()), []float32{float32(t.Split()) + 1})
			}
			t.PushRange(0, 0, slices.Repeat([]float32{1}, len(t.PullRange(0, 0, 8)))) // with drift, values overflow on a slow machine after 930 clocks and stop changing
			return nil
		})
		j.Tables = append(j.Tables, table.Schema{Name: "once", Rows: 4, Width: 1, Partitions: 2})
		return j
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	a, cuts := archiveOf(t, mem.New("a"), once(1)), 0
	_, err := node.Train(ctx, once(1<<20), node.Options{Slots: 2, Lanes: 2, Era: 1, Checkpoints: &node.Checkpoints{Archive: a, Every: time.Millisecond, OnCut: func(node.Checkpoint) {
		if cuts++; cuts == 6 {
			stop()
		}
	}}})
	require.NoError(t, err)
	m, _, err := a.Latest(t.Context())
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	old := 0
	for i := range m.Shards {
		switch e := &m.Shards[i]; {
		case e.At != m.At && e.Table == 0:
			t.Errorf("%v changes in each clock, and is of record %d of %d", e.Ref(), e.Commit, m.Commit)
		case e.At != m.At:
			old++
		}
	}
	if old != 2 {
		t.Errorf("%d partitions of two are of an earlier cut", old)
	}
	for p := range 2 {
		ref := bellows.PartitionRef{Table: 1, Partition: bellows.PartitionID(p)}
		live, _, err := a.Partition(t.Context(), m, ref)
		if err != nil || len(live.Values) != 2 || live.Values[0] != float32(2*p)+1 || live.Values[1] != float32(2*p)+2 {
			t.Errorf("%v: %+v, %v", ref, live, err)
		}
	}
}

// TestManifestIsWrittenLast makes one shard of the first cut stall, until that cut is given up: later ones have no manifest either, since what that removes would be written still. When the store answers, the next is there.
func TestManifestIsWrittenLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, answer := mem.New("a"), make(chan struct{})
		var mu sync.Mutex
		var once sync.Once
		stalled, answered, shards := false, false, 0
		s.Fail = func(op, name string) error {
			mu.Lock()
			if !answered && strings.HasPrefix(name, "cuts/") && op == "create" {
				t.Errorf("%s is written during a shard", name)
			}
			if op != "publish" || !strings.HasPrefix(name, "shards/") {
				mu.Unlock()
				return nil
			}
			shards++
			first := !stalled
			stalled = true
			mu.Unlock()
			if first {
				<-answer
			}
			return nil
		}
		slow := func(t *train.Task) error {
			<-time.After(time.Second)
			return drift(t)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		a := archiveOf(t, s, job(1, drift))
		cuts := 0
		_, err := node.Train(ctx, job(1<<20, slow), node.Options{Lanes: 2, Era: 1, Notice: func(sentence string) {
			if strings.Contains(sentence, "given up") {
				once.Do(func() {
					time.AfterFunc(time.Minute, func() {
						mu.Lock()
						defer mu.Unlock()
						if shards != 8 {
							t.Errorf("%d shards are asked for, of four each of a cut that was given up and the next", shards)
						}
						answered = true
						close(answer)
					})
				})
			}
		}, Checkpoints: &node.Checkpoints{Archive: a, Every: 5 * time.Second, OnCut: func(node.Checkpoint) {
			cuts++
			stop()
		}}})
		if m, _, wrong := a.Latest(t.Context()); err != nil || wrong != nil || m == nil || cuts == 0 {
			t.Errorf("%d cuts are reported, and %+v is there: %v, %v", cuts, m, err, wrong)
		}
	})
}
