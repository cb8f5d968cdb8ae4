package elastic_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellows"
	"bellows/api"
	"bellows/internal/require"
	"bellows/node"
	"bellows/node/elastic"
	"bellows/policy/advise"
	"bellows/policy/choose"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
	"bellows/train"
)

// liar is a job that gives false figures a number of times: random ones, of the shape that it has. Then it is silent.
type liar struct {
	layout func(context.Context) (node.Layout, error)
	lie    func(f *gauge.Figures)
	epoch  func(shape string) gauge.Interval
	mu     sync.Mutex
	left   int
	over   chan struct{} // closed after the last
}

func (l *liar) AwaitClocks(ctx context.Context, _ int) error {
	l.mu.Lock()
	l.left--
	left := l.left
	l.mu.Unlock()
	if left >= 0 {
		return nil
	}
	if left == -1 {
		close(l.over)
	}
	<-ctx.Done()
	return bellows.Errorf(bellows.Interrupted, "await", "", "the job is over")
}

func (l *liar) Moment(ctx context.Context) (m advise.Moment, err error) {
	at, err := l.layout(ctx)
	if err != nil {
		return m, err
	}
	f := gaugetest.Uniform(gaugetest.Size{Nodes: len(at.Members), Splits: len(at.Splits), Partitions: len(at.Partitions)})
	f.Tables = make([]int, len(at.Tables))
	for i, m := range at.Members {
		n := &f.Nodes[i]
		n.ID, n.Slots, n.Lanes = m.Node, m.Slots, m.Lanes
		n.Works = slices.Contains(at.Splits, m.Node)
		n.Serves = slices.ContainsFunc(at.Partitions, func(h node.Holding) bool { return h.Node == m.Node })
	}
	for i := range f.Splits {
		f.Splits[i].Node = at.Splits[i]
	}
	for i, h := range at.Partitions {
		f.Partitions[i].Node = h.Node
		f.Tables[h.Table]++
	}
	f.Clocks.Expected = 1 << 30
	l.lie(f)
	s := f.Shape()
	return advise.Moment{Figures: f, Epoch: l.epoch(choose.Name(&s)), Clocks: gauge.ClocksLeast}, f.Validate()
}

// TestBitsHoldThroughAdvice: false figures choose the shape of a job again and again. The job ends with the bits of an
// undisturbed one.
func TestBitsHoldThroughAdvice(t *testing.T) {
	t.Parallel()
	looks := 30
	if testing.Short() {
		looks = 8
	}
	for _, name := range []string{"mlr", "mf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := applications[name]
			job := func() train.Job { return a.job(t) }
			quiet, err := node.Train(context.Background(), job(), node.Options{})
			require.NoError(t, err)
			v := newVillage(t, job, 3*a.rests, node.Member{Slots: 1, Lanes: 1})
			rng := rand.New(rand.NewPCG(1, 7))
			l := &liar{layout: v.commands.Layout, left: looks, over: make(chan struct{}),
				lie: func(f *gauge.Figures) {
					for i := range f.Nodes {
						n := &f.Nodes[i]
						n.Item = gauge.Exactly(1e-6 + 1e-3*rng.Float64()*rng.Float64())
						n.In = gauge.Exactly(1e5 + 1e8*rng.Float64())
						n.Out = gauge.Exactly(1e5 + 1e8*rng.Float64())
					}
				},
				epoch: func(string) gauge.Interval { return gauge.Exactly(1e6) }}
			r, err := v.run([]func(context.Context) error{
				func(ctx context.Context) error { return v.workers(ctx, 3) },
				func(ctx context.Context) error { return second(v.shaper.Scale(ctx, 4, 3)) },
				func(ctx context.Context) error {
					v.shaper.Advise(l, elastic.Advice{Acts: true})
					<-l.over
					return nil
				},
			})
			require.NoError(t, err)
			v.equal(r, quiet)
			changes := 0
			for _, c := range v.changes {
				if c.Advice != nil && strings.Contains(c.Sentence, "are faster") {
					changes++
				}
			}
			if changes < looks/4 {
				t.Errorf("the shape changed %d times", changes)
			}
		})
	}
}

// TestFollowerTriesNoShapeAgain: the advice that is reported has the shapes that were tried. A Shaper that begins with
// it, as that of a controller that follows, leaves a shape that did not hold, and does not try it again. One without it
// does.
func TestFollowerTriesNoShapeAgain(t *testing.T) {
	t.Parallel()
	f, s := newShaper()
	require.NoError(t, second(s.Scale(t.Context(), 4, 3)))
	first, err := f.Layout(t.Context())
	require.NoError(t, err)
	var begun string
	life := func(state advise.State) (changed []string, next advise.State) {
		f.locked(func() { f.told = nil })
		s := elastic.New(f, elastic.Options{})
		l := &liar{layout: f.Layout, left: 1, over: make(chan struct{}), lie: func(*gauge.Figures) {},
			epoch: func(shape string) gauge.Interval { // slower than any prediction; the first shape is the fastest
				if begun == "" {
					begun = shape
				}
				if shape == begun {
					return gauge.Exactly(1e6)
				}
				return gauge.Exactly(2e6)
			}}
		s.Advise(l, elastic.Advice{Advisor: advise.Advisor{State: state}, Acts: true})
		<-l.over
		s.Close()
		f.locked(func() {
			for _, c := range f.told {
				if c.Advice == nil {
					continue
				}
				text, err := json.Marshal(c.Advice) // as the log has it
				require.NoError(t, err)
				next = advise.State{}
				require.NoError(t, json.Unmarshal(text, &next))
				if strings.Contains(c.Sentence, "are faster") {
					changed = append(changed, c.Sentence)
				}
			}
		})
		return changed, next
	}
	tried, state := life(advise.State{})
	back, state := life(state)
	now, err := f.Layout(t.Context())
	require.NoError(t, err)
	if len(tried) != 1 || len(back) != 1 || !strings.Contains(back[0], "did not hold") ||
		len(nodesOf(now.Splits)) != len(nodesOf(first.Splits)) {
		t.Fatalf("%q, then %q: %+v, not %+v", tried, back, now, first)
	}
	if again, _ := life(state); len(again) > 0 {
		t.Errorf("tried again: %q", again)
	}
	if again, _ := life(advise.State{}); len(again) != 1 {
		t.Errorf("without what was remembered: %q", again)
	}
}

// TestScaleIsRemembered: the bounds of a command that has scaled the job are reported at once, so that a controller
// that follows has them.
func TestScaleIsRemembered(t *testing.T) {
	t.Parallel()
	f, s := newShaper()
	l := &liar{layout: f.Layout, over: make(chan struct{}), lie: func(*gauge.Figures) {},
		epoch: func(string) gauge.Interval { return gauge.Exactly(1e6) }}
	s.Advise(l, elastic.Advice{Acts: true})
	<-l.over // nothing is advised
	require.NoError(t, second(s.Scale(t.Context(), 4, 0)))
	s.Close()
	var state *advise.State
	for _, c := range f.told {
		if c.Advice != nil {
			state = c.Advice
		}
	}
	if state == nil || state.Workers == nil || *state.Workers != (choose.Bounds{Low: 4}) || state.Servers != nil {
		t.Errorf("the log has %+v", state)
	}
}

// TestScaleStopsWhatWasDecided: a command that scales the job, after a change was decided and before it begins, holds
// also if the job has the numbers already.
func TestScaleStopsWhatWasDecided(t *testing.T) {
	t.Parallel()
	f, s := newShaper()
	require.NoError(t, second(s.Scale(t.Context(), 4, 3)))
	before, err := f.Layout(t.Context())
	require.NoError(t, err)
	asked := false
	j := &told{fake: f, hear: func(c node.Change) {
		if strings.Contains(c.Sentence, "are faster") && !asked {
			asked = true
			require.NoError(t, second(s.Scale(t.Context(), 4, 3)))
		}
	}}
	s = elastic.New(j, elastic.Options{})
	l := &liar{layout: f.Layout, left: 3, over: make(chan struct{}), lie: func(*gauge.Figures) {},
		epoch: func(string) gauge.Interval { return gauge.Exactly(1e6) }}
	s.Advise(l, elastic.Advice{Acts: true})
	<-l.over
	s.Close()
	after, err := f.Layout(t.Context())
	require.NoError(t, err)
	if !asked || len(nodesOf(after.Splits)) != len(nodesOf(before.Splits)) {
		t.Errorf("asked %v: %+v, then %+v", asked, before, after)
	}
}

// told is a job that hears decisions.
type told struct {
	*fake
	hear func(node.Change)
}

func (j *told) Planned(ctx context.Context, p *api.Plan, decided []node.Change) error {
	for _, c := range decided {
		j.hear(c)
	}
	return j.fake.Planned(ctx, p, decided)
}

// nodesOf returns the nodes of some splits.
func nodesOf(splits []bellows.NodeID) map[bellows.NodeID]bool {
	some := map[bellows.NodeID]bool{}
	for _, n := range splits {
		some[n] = true
	}
	return some
}
