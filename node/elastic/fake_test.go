package elastic_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/api"
	"bellows/internal/require"
	"bellows/node"
	"bellows/node/elastic"
	"bellows/policy/reshape"
)

// fake is a job controlled by the test: steps come about at once, or when the test lets them.
type fake struct {
	mu      sync.Mutex
	layout  node.Layout
	next    bellows.NodeID
	held    chan struct{} // not nil: moves of partitions come about when it is closed
	begun   chan struct{} // one word for each that waits for held
	stay    map[bellows.PartitionRef]chan struct{}
	told    []node.Change
	plans   []*api.Plan
	removed []bellows.NodeID
	refuses int           // so many moves of partitions
	why     bellows.Kind  // of those refusals
	refused chan struct{} // one value for each report
	over    error
	overs   int           // so many looks fail with it; negative: all
	slow    chan struct{} // not nil: Planned receives from it first
	given   map[string][]context.Context
	deaf    bool // a cancelled move continues
	hurried int  // moves of partitions that were to be as fast as they go
	moved   int  // and all
}

func newFake() *fake {
	f := &fake{next: 1, why: bellows.Unavailable, overs: -1, given: map[string][]context.Context{}, begun: make(chan struct{}, 100), refused: make(chan struct{}, 100), stay: map[bellows.PartitionRef]chan struct{}{}}
	f.layout = node.Layout{Version: 1, Members: []node.Member{{Slots: 2, Lanes: 2}}, Splits: make([]bellows.NodeID, 8), Tables: []string{"w"}}
	for p := range 4 {
		f.layout.Partitions = append(f.layout.Partitions, node.Holding{PartitionRef: bellows.PartitionRef{Partition: bellows.PartitionID(p)}, Bytes: 100})
	}
	return f
}

// newShaper returns a job and what shapes it, with no options.
func newShaper() (*fake, *elastic.Shaper) {
	f := newFake()
	return f, elastic.New(f, elastic.Options{})
}

// locked changes what the test decides.
func (f *fake) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// other returns a node other than 0 that holds a partition.
func (f *fake) other(t *testing.T) bellows.NodeID {
	t.Helper()
	l, _ := f.Layout(t.Context())
	for _, p := range l.Partitions {
		if p.Node != 0 {
			return p.Node
		}
	}
	t.Fatal("node 0 holds every partition")
	return 0
}

// later asks for something while the test continues, and returns the channel of the answer.
func later(ask func() error) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- ask() }()
	return answer
}

func (f *fake) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	f.layout.Version++
}

// gets notes which context a call was given. Its caller holds the lock.
func (f *fake) gets(call string, ctx context.Context) { f.given[call] = append(f.given[call], ctx) }

func (f *fake) Layout(ctx context.Context) (node.Layout, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gets("layout", ctx)
	l := f.layout
	l.Members, l.Splits, l.Partitions = slices.Clone(l.Members), slices.Clone(l.Splits), slices.Clone(l.Partitions)
	if f.overs == 0 {
		return l, nil
	}
	if f.over != nil {
		f.overs--
	}
	return l, f.over
}

func (f *fake) Add(_ context.Context, slots, lanes int) (n bellows.NodeID, err error) {
	f.change(func() {
		n = f.next
		f.next++
		f.layout.Members = append(f.layout.Members, node.Member{Node: n, Slots: slots, Lanes: lanes})
	})
	return n, nil
}

func (f *fake) MoveSplit(_ context.Context, s bellows.SplitID, to bellows.NodeID) (<-chan error, error) {
	f.change(func() { f.layout.Splits[s] = to })
	moved := make(chan error, 1)
	moved <- nil
	return moved, nil
}

func (f *fake) StaySplit(context.Context, bellows.SplitID) error { return nil }

func (f *fake) HurryPartition(ctx context.Context, p bellows.PartitionRef, to bellows.NodeID) (<-chan error, error) {
	f.change(func() { f.hurried++ })
	return f.MovePartition(ctx, p, to)
}

func (f *fake) MovePartition(ctx context.Context, p bellows.PartitionRef, to bellows.NodeID) (<-chan error, error) {
	f.mu.Lock()
	f.gets("move", ctx)
	held, refused, why := f.held, f.refuses > 0, f.why
	f.refuses = max(0, f.refuses-1)
	f.moved++
	f.mu.Unlock()
	if refused {
		return nil, bellows.Errorf(why, "move", "a partition", "not now")
	}
	moved, stays := make(chan error, 1), make(chan struct{})
	if held == nil {
		f.change(func() { f.layout.Partitions[p.Partition].Node = to })
		moved <- nil
		return moved, nil
	}
	f.locked(func() { f.stay[p] = stays })
	f.begun <- struct{}{}
	go func() {
		select {
		case <-held:
			f.change(func() { f.layout.Partitions[p.Partition].Node = to })
			moved <- nil
		case <-stays:
			moved <- errors.New("it stays")
		}
	}()
	return moved, nil
}

func (f *fake) StayPartition(ctx context.Context, p bellows.PartitionRef) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gets("stay", ctx)
	if stays, waits := f.stay[p]; waits && !f.deaf { // else it has moved already
		close(stays)
		delete(f.stay, p)
	}
	return nil
}

func (f *fake) Remove(_ context.Context, n bellows.NodeID) error {
	f.change(func() {
		f.removed = append(f.removed, n)
		f.layout.Members = slices.DeleteFunc(f.layout.Members, func(m node.Member) bool { return m.Node == n })
	})
	return nil
}

func (f *fake) Planned(ctx context.Context, p *api.Plan, decided []node.Change) error {
	f.mu.Lock()
	slow := f.slow
	f.mu.Unlock()
	if slow != nil {
		<-slow
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gets("tell", ctx)
	f.plans, f.told = append(f.plans, p), append(f.told, decided...)
	for _, c := range decided {
		if strings.Contains(c.Sentence, "was refused") {
			f.refused <- struct{}{}
		}
	}
	return nil
}

func (f *fake) counts() (workers, servers int) {
	w, s := map[bellows.NodeID]bool{}, map[bellows.NodeID]bool{}
	l, _ := f.Layout(context.Background())
	for _, n := range l.Splits {
		w[n] = true
	}
	for _, p := range l.Partitions {
		s[p.Node] = true
	}
	return len(w), len(s)
}

// TestEPSFunctions adds and removes workers and servers, drains a node, and switches roles.
func TestEPSFunctions(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := elastic.New(f, elastic.Options{Slots: 2, Lanes: 3})
	defer s.Close()
	ctx := t.Context()
	for _, c := range []struct{ ask, workers, servers int }{{0, 4, 2}, {1, 2, 4}, {2, 1, 1}, {3, 3, 3}} {
		if r, err := s.Scale(ctx, c.workers, c.servers); err != nil || len(r.Left) > 0 {
			t.Fatalf("%+v: %+v, %v", c, r, err)
		}
		if w, v := f.counts(); w != c.workers || v != c.servers {
			t.Fatalf("%d workers and %d servers, not %+v", w, v, c)
		}
	}
	last := f.next - 1
	if r, err := s.Drain(ctx, last, 0); err != nil || r.Moved == 0 || !slices.Contains(f.removed, last) {
		t.Errorf("node %d: %+v, %v; gone are %v", last, r, err, f.removed)
	}
	if w, v := f.counts(); w+v >= 6 || w < 2 || v < 2 {
		t.Errorf("%d workers and %d servers", w, v)
	}
	require.NoError(t, second(s.Scale(ctx, 11, 2))) // more workers than the 8 splits
	if w, _ := f.counts(); w != 8 {
		t.Errorf("%d workers have splits, not 8", w)
	}
	require.NoError(t, second(s.Scale(ctx, 2, 2)))
	l, _ := f.Layout(ctx)
	n := l.Members[1].Node
	for _, role := range []reshape.Role{reshape.Server, reshape.Worker, reshape.Both} {
		if _, err := s.Switch(ctx, n, role); err != nil {
			t.Fatalf("%v: %v", role, err)
		}
		l, _ := f.Layout(ctx)
		works := slices.Contains(l.Splits, n)
		serves := slices.ContainsFunc(l.Partitions, func(h node.Holding) bool { return h.Node == n })
		if works != (role&reshape.Worker != 0) || serves != (role&reshape.Server != 0) {
			t.Errorf("node %d is %v: it works %v and serves %v", n, role, works, serves)
		}
	}
	for want, err := range map[string]error{
		"leads the job": second(s.Drain(ctx, 0, 0)), "no node 99": second(s.Drain(ctx, 99, time.Second)),
		"at least 1ms": second(s.Drain(ctx, n, time.Microsecond)), "node 77 does not exist": second(s.Switch(ctx, 77, reshape.Worker)), "no role 8": second(s.Switch(ctx, n, 8)),
	} {
		if bellows.KindOf(err) != bellows.Config || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func second(_ elastic.Result, err error) error { return err }

// TestShaperAnswersRequests checks answered when something else is asked, when its context ends, when a notice does, and when the job is over.
func TestShaperAnswersRequests(t *testing.T) { synctest.Test(t, whoHasAskedIsAnswered) }

func whoHasAskedIsAnswered(t *testing.T) {
	f, s := newShaper()
	f.held = make(chan struct{})
	first := later(func() error { return second(s.Scale(t.Context(), 1, 2)) })
	<-f.begun
	ctx, cancel := context.WithCancelCause(t.Context())
	other := later(func() error { return second(s.Scale(ctx, 1, 3)) })
	if err := <-first; bellows.KindOf(err) != bellows.Interrupted || !strings.Contains(err.Error(), "since") {
		t.Errorf("superseded: %v", err)
	}
	cancel(errors.New("nobody waits"))
	if err := <-other; bellows.KindOf(err) != bellows.Interrupted || !strings.Contains(err.Error(), "nobody waits") {
		t.Errorf("withdrawn: %v", err)
	}
	f.mu.Lock()
	held := f.held
	f.held = nil
	f.mu.Unlock()
	close(held)
	require.NoError(t, second(s.Scale(t.Context(), 2, 2)))
	f.locked(func() { f.held = make(chan struct{}) })
	n := f.other(t)
	if r, err := s.Drain(t.Context(), n, 20*time.Millisecond); bellows.KindOf(err) != bellows.Unavailable || len(r.Left) == 0 || !strings.Contains(err.Error(), "did not fit into its notice") {
		t.Errorf("a notice that is too short: %+v, %v", r, err)
	}
	f.locked(func() { held, f.held = f.held, nil })
	close(held)
	last := later(func() error { return second(s.Scale(t.Context(), 1, 1)) })
	for done := false; !done; {
		select {
		case <-f.begun:
		case <-last: // what was left has gone
			done = true
		}
	}
	f.locked(func() { f.over = bellows.Errorf(bellows.Interrupted, "look", "", "the job is over") })
	if _, err := s.Scale(t.Context(), 2, 1); bellows.KindOf(err) != bellows.Interrupted {
		t.Errorf("a job that is over: %v", err)
	}
	s.Close()
}

// TestDecisionsAreToldInTheirOrder: what was decided, and then what became of it; and how far it is.
func TestDecisionsAreToldInTheirOrder(t *testing.T) {
	t.Parallel()
	f, s := newShaper()
	for range 3 {
		for _, n := range []int{3, 1} {
			require.NoError(t, second(s.Scale(t.Context(), n, n)))
		}
	}
	s.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.told) != 12 {
		t.Fatalf("%d are told: %+v", len(f.told), f.told)
	}
	for i, c := range f.told {
		want := []string{"to move", "done in"}[i%2]
		if c.Kind != node.Planned || !strings.Contains(c.Sentence, want) || i%2 == 0 && len(c.Steps) == 0 {
			t.Errorf("%d: %+v, want %q", i, c, want)
		}
	}
	if f.plans[len(f.plans)-1] != nil {
		t.Errorf("at the end it is at %+v", f.plans[len(f.plans)-1])
	}
	if !slices.ContainsFunc(f.plans, func(p *api.Plan) bool { return p != nil && p.Reason != "" && p.Of > 0 }) {
		t.Error("how far it is is never told")
	}
}

// TestShaperNeverWaitsLocked asks for something while a move does not end.
func TestShaperNeverWaitsLocked(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.held = make(chan struct{})
	s := elastic.New(f, elastic.Options{})
	first := later(func() error { return second(s.Scale(t.Context(), 1, 2)) })
	<-f.begun
	if _, err := s.Drain(t.Context(), 55, 0); err == nil {
		t.Error("a node leaves that there is not")
	}
	close(f.held)
	if err := <-first; err != nil {
		t.Error(err)
	}
	s.Close()
}

// TestNoticeEndsWithLastMove: a move comes about in the step in which its notice is over.
func TestNoticeEndsWithLastMove(t *testing.T) {
	t.Parallel()
	f, s := newShaper()
	require.NoError(t, second(s.Scale(t.Context(), 1, 2)))
	n := f.other(t)
	held := make(chan struct{})
	f.locked(func() { f.held = held })
	left := later(func() error { return second(s.Drain(t.Context(), n, time.Hour)) })
	<-f.begun
	<-f.begun
	s.Later(time.Hour)
	close(held)
	if err := <-left; bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "did not fit into its notice") {
		t.Errorf("a notice that is over: %v", err)
	}
	s.Close()
}

// TestAStepEndsWhatItBegins checks a step in which the time begins moves that are unwanted by its end.
func TestAStepEndsWhatItBegins(t *testing.T) {
	t.Parallel()
	f, s := newShaper()
	f.held, f.refuses = make(chan struct{}), 2
	ctx, cancel := context.WithCancel(t.Context())
	left := later(func() error { return second(s.Scale(ctx, 1, 2)) })
	for range 2 {
		<-f.refused
	}
	s.Later(time.Minute)
	cancel()
	if err := <-left; bellows.KindOf(err) != bellows.Interrupted {
		t.Errorf("withdrawn: %v", err)
	}
	for range 2 {
		<-f.begun
	}
	f.mu.Lock()
	stay := slices.Collect(maps.Values(f.stay))
	f.mu.Unlock()
	for _, stays := range stay {
		<-stays
	}
	s.Close()
}

// TestLeaveHurriesMoves checks that moves to a new node yield to the job's work, and moves from a leaving one do not.
func TestLeaveHurriesMoves(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*elastic.Shaper, bellows.NodeID) error{
		"drain":  func(s *elastic.Shaper, n bellows.NodeID) error { return second(s.Drain(t.Context(), n, 0)) },
		"notice": func(s *elastic.Shaper, n bellows.NodeID) error { return second(s.Drain(t.Context(), n, time.Hour)) },
		"scale":  func(s *elastic.Shaper, _ bellows.NodeID) error { return second(s.Scale(t.Context(), 1, 1)) },
	} {
		f, s := newShaper()
		require.NoError(t, second(s.Scale(t.Context(), 2, 2)))
		if f.moved == 0 || f.hurried > 0 {
			t.Errorf("of %d moves to a node that comes %d hurry", f.moved, f.hurried)
		}
		n := f.other(t)
		f.moved = 0
		if err := leave(s, n); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f.moved == 0 || f.hurried != f.moved {
			t.Errorf("%s: of %d moves %d hurry", name, f.moved, f.hurried)
		}
		s.Close()
	}
}

// TestShaperForgetsFinishedWork ends requests in each way, and closes: no caller waits, and no op is under way. Closing
// waits for slow ops.
func TestShaperForgetsFinishedWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := elastic.New(f, elastic.Options{Slots: 3})
		require.NoError(t, second(s.Scale(t.Context(), 3, 3)))
		if _, err := s.Drain(t.Context(), 99, 0); err == nil {
			t.Error("a node that is not there is drained")
		}
		if waiting, under := s.Open(); waiting != 0 || under != 0 {
			t.Errorf("%d are waited for, and %d ops are under way", waiting, under)
		}
		if l, _ := f.Layout(t.Context()); l.Members[1].Slots != 3 {
			t.Errorf("the new node has %d slots, not 3", l.Members[1].Slots)
		}
		f.mu.Lock()
		f.held, f.deaf = make(chan struct{}), true
		held := f.held
		f.mu.Unlock()
		asked := later(func() error { return second(s.Scale(t.Context(), 1, 1)) })
		<-f.begun
		closed := make(chan struct{})
		go func() { s.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("it has closed while a partition moves")
		default:
		}
		if err := <-asked; err == nil || !strings.Contains(err.Error(), "the job is over") {
			t.Errorf("who asked is told %v", err)
		}
		close(held)
		<-closed
	})
}

// TestShaperReportsUnrequestedResults warns of a node that is not there: observers of the job get that report, and the
// next decision.
func TestShaperReportsUnrequestedResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newShaper()
		s.Warn(99, time.Second)
		synctest.Wait()
		if len(f.told) != 1 || f.told[0].Kind != node.Planned || !strings.Contains(f.told[0].Sentence, "no node 99") {
			t.Errorf("told %+v", f.told)
		}
		require.NoError(t, second(s.Scale(t.Context(), 2, 2)))
		s.Close()
	})
}

// TestRetryByErrorKind refuses one move of a partition. The move is retried, unless the request or the program is wrong.
func TestRetryByErrorKind(t *testing.T) {
	t.Parallel()
	for kind, retried := range map[bellows.Kind]bool{bellows.Bug: false, bellows.Config: false, bellows.Unavailable: true, bellows.Lost: true, bellows.IO: true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.refuses, f.why = 1, kind
			s := elastic.New(f, elastic.Options{})
			r, err := s.Scale(t.Context(), 1, 2)
			if _, servers := f.counts(); retried && (err != nil || len(r.Left) > 0 || servers != 2) {
				t.Errorf("kind %d: %+v, %v, %d servers", kind, r, err, servers)
			}
			if !retried && (bellows.KindOf(err) != bellows.Unavailable || len(r.Left) != 1 || !strings.Contains(r.Left[0], "not now")) {
				t.Errorf("kind %d: %+v, %v", kind, r, err)
			}
			s.Close()
		})
	}
}

// TestScaleEndsWithTheJob ends the job while a partition moves. Scale then returns that as its error, long before its
// context expires.
func TestScaleEndsWithTheJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		held := make(chan struct{})
		f.held = held
		s := elastic.New(f, elastic.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		asked := later(func() error { return second(s.Scale(ctx, 1, 2)) })
		<-f.begun
		f.locked(func() { f.over = bellows.Errorf(bellows.Interrupted, "look", "", "the job is over") })
		close(held)
		if err := <-asked; err == nil || !strings.Contains(err.Error(), "the job is over") {
			t.Errorf("the answer is %v", err)
		}
		s.Close()
	})
}

// TestFailedLookDoesNotEndScale fails the look at the job after a move: the reshape continues, since the job itself has not ended.
func TestFailedLookDoesNotEndScale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		held := make(chan struct{})
		f.held = held
		s := elastic.New(f, elastic.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		asked := later(func() error { return second(s.Scale(ctx, 1, 2)) })
		<-f.begun
		f.locked(func() { f.over, f.overs, f.held = bellows.Errorf(bellows.Unavailable, "look", "", "not now"), 1, nil })
		close(held)
		if err := <-asked; err != nil {
			t.Error(err)
		}
		if _, servers := f.counts(); servers != 2 {
			t.Errorf("%d servers, want 2", servers)
		}
		s.Close()
	})
}

// TestDecisionDuringATelling makes a decision while Planned runs for an earlier one. Planned gets it next.
func TestDecisionDuringATelling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := newShaper()
		slow := make(chan struct{})
		f.slow = slow
		s.Warn(98, time.Second)
		synctest.Wait()
		slow <- struct{}{} // the first call has no decision yet
		synctest.Wait()
		s.Warn(99, time.Second)
		synctest.Wait()
		close(slow)
		synctest.Wait()
		f.mu.Lock()
		if len(f.told) != 2 || !strings.Contains(f.told[0].Sentence, "no node 98") || !strings.Contains(f.told[1].Sentence, "no node 99") {
			t.Errorf("told %+v", f.told)
		}
		f.mu.Unlock()
		s.Close()
	})
}

// TestContextsEnd looks at the contexts that the job's calls were given: those of a step end with the step, and all end with the shaper.
func TestContextsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.held = make(chan struct{})
		s := elastic.New(f, elastic.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		withdrawn, withdraw := context.WithCancel(ctx)
		asked := later(func() error { return second(s.Scale(withdrawn, 1, 2)) })
		<-f.begun
		withdraw()
		if err := <-asked; bellows.KindOf(err) != bellows.Interrupted {
			t.Error(err)
		}
		synctest.Wait()
		f.locked(func() { f.held = nil })
		require.NoError(t, second(s.Scale(ctx, 2, 2)))
		s.Warn(99, time.Second)
		synctest.Wait()
		cancel()
		ended := func(when string, calls ...string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, call := range calls {
				if len(f.given[call]) == 0 {
					t.Errorf("%s: %s was not called", when, call)
				}
				for i, ctx := range f.given[call] {
					if ctx.Err() == nil {
						t.Errorf("%s: the context of %s %d has not ended", when, call, i)
					}
				}
			}
		}
		ended("open", "move", "stay", "tell")
		s.Close()
		ended("closed", "layout", "move", "stay", "tell")
	})
}

// TestDefaultNode scales with no options: a node that comes has one slot and one lane. Closing tells nothing, since nothing is decided then.
func TestDefaultNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := newShaper()
		require.NoError(t, second(s.Scale(t.Context(), 2, 2)))
		for _, m := range f.layout.Members[1:] {
			if m.Slots != 1 || m.Lanes != 1 {
				t.Errorf("node %d has %d slots and %d lanes, want 1 and 1", m.Node, m.Slots, m.Lanes)
			}
		}
		synctest.Wait() // until the end of the plan has been reported
		told := len(f.plans)
		s.Close()
		if len(f.plans) != told {
			t.Errorf("closing tells %d times", len(f.plans)-told)
		}
	})
}
