package reshape_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/policy/plan"
	"bellows/policy/reshape"
	"bellows/policy/shape"
)

// world is a job that a Machine drives. A seed decides how long everything takes, and which refusals, deaths and
// requests happen.
type world struct {
	t        *testing.T
	seed     uint64
	rng      *rand.Rand
	machine  *reshape.Machine
	facts    reshape.Facts
	clock    int64
	queue    []happening
	next     bellows.NodeID // number of the next node
	open     map[reshape.OpID]*working
	limit    int   // of moves of a node
	hurried  int64 // bytes of moves from nodes that leave
	adds     int   // nodes that come at a time
	shares   bool  // a policy has dealt by shares, so that splits may be uneven
	host     shape.Node
	asked    map[reshape.AskID]*question
	answers  int
	stubborn map[string]bool // what is never moved, by its step
	deaths   int
	calm     bool // no more refusals and deaths
	counts   map[string]int
	notes    []string
}

type happening struct {
	at int64
	do func()
}

type working struct {
	reshape.Op
	abandoned bool
	ended     bool
}

type question struct {
	reshape.Ask
	at      int64
	outcome *reshape.Outcome
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d at %d ms: %s\n%s", w.seed, w.clock, fmt.Sprintf(format, args...), strings.Join(w.notes, "\n"))
}

func (w *world) after(millis int64, do func()) {
	w.queue = append(w.queue, happening{w.clock + millis, do})
}

// step returns the next thing that happens; false: nothing does.
func (w *world) step() bool {
	if wait, has := w.machine.Next(); has {
		w.queue = append(w.queue, happening{w.clock + wait, func() {}})
	}
	if len(w.queue) == 0 {
		return false
	}
	first := 0
	for i, h := range w.queue {
		if h.at < w.queue[first].at {
			first = i
		}
	}
	h := w.queue[first]
	w.queue = slices.Delete(w.queue, first, first+1)
	w.clock = max(w.clock, h.at)
	var fx reshape.Effects
	w.machine.Tick(w.clock, &fx)
	w.obey(&fx)
	h.do()
	w.look()
	return true
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 11)), open: map[reshape.OpID]*working{}, asked: map[reshape.AskID]*question{},
		stubborn: map[string]bool{}, counts: map[string]int{}}
	w.limit = 1 + w.rng.IntN(3)
	w.host = shape.Node{Slots: 1 + w.rng.IntN(3), Lanes: 1}
	w.adds = 1 + w.rng.IntN(3)
	w.hurried = 1 + w.rng.Int64N(3000)
	w.machine = reshape.New(reshape.Limits{Limits: plan.Limits{OfNode: w.limit, Hurried: w.hurried, Adds: w.adds}, Host: w.host})
	f := &w.facts
	f.Version = 1
	first := 1 + w.rng.IntN(4)
	apart := w.rng.IntN(2) == 0
	for n := range first {
		host := shape.Node{ID: bellows.NodeID(n), Slots: 1, Lanes: 1 + w.rng.IntN(3)}
		if apart && n > 0 && w.rng.IntN(3) == 0 {
			host.Slots = 0
		} else if apart && n > 0 && w.rng.IntN(3) == 0 {
			host.Lanes = 0
		}
		f.Nodes = append(f.Nodes, host)
	}
	w.next = bellows.NodeID(first)
	f.Splits = make([]bellows.NodeID, 6+w.rng.IntN(20))
	f.Tables = []int{1 + w.rng.IntN(12), 1 + w.rng.IntN(12)}
	f.Sizes.Splits = make([]int64, len(f.Splits))
	for s := range f.Splits {
		f.Splits[s] = w.draw(func(n shape.Node) bool { return n.Slots > 0 })
		f.Sizes.Splits[s] = int64(w.rng.IntN(2) * w.rng.IntN(1000))
	}
	for range f.Tables[0] + f.Tables[1] {
		f.Partitions = append(f.Partitions, w.draw(func(n shape.Node) bool { return n.Lanes > 0 }))
		f.Sizes.Partitions = append(f.Sizes.Partitions, int64(1+w.rng.IntN(1000)))
	}
	var fx reshape.Effects
	w.machine.Observe(w.seen(), &fx)
	w.obey(&fx)
	return w
}

// draw returns a random node of that kind.
func (w *world) draw(which func(shape.Node) bool) bellows.NodeID {
	var list []bellows.NodeID
	for _, n := range w.facts.Nodes {
		if which(n) {
			list = append(list, n.ID)
		}
	}
	return list[w.rng.IntN(len(list))]
}

// seen returns the job as an observer sees it now.
func (w *world) seen() reshape.Facts {
	f := w.facts
	f.Nodes, f.Splits, f.Partitions = slices.Clone(f.Nodes), slices.Clone(f.Splits), slices.Clone(f.Partitions)
	return f
}

func (w *world) hasNode(n bellows.NodeID) bool {
	return slices.ContainsFunc(w.facts.Nodes, func(o shape.Node) bool { return o.ID == n })
}

// ask asks for something, anything.
func (w *world) ask(a reshape.Ask) reshape.AskID {
	var fx reshape.Effects
	if a.Drain != nil && w.rng.IntN(3) == 0 { // with another node, which may be the same, or none of the job's
		other := reshape.Ask{Drain: &reshape.Drain{Node: bellows.NodeID(w.rng.IntN(int(w.next) + 1)), NoticeMillis: a.Drain.NoticeMillis}}
		ids := w.machine.AskDrains([]reshape.Drain{*other.Drain, *a.Drain}, &fx)
		w.counts["together"]++
		w.asked[ids[0]], w.asked[ids[1]] = &question{Ask: other, at: w.clock}, &question{Ask: a, at: w.clock}
		w.obey(&fx)
		return ids[1]
	}
	id := w.machine.Ask(a, &fx)
	w.asked[id] = &question{Ask: a, at: w.clock}
	w.obey(&fx)
	return id
}

func (w *world) randomAsk() (a reshape.Ask) {
	node := func() bellows.NodeID { return bellows.NodeID(w.rng.IntN(int(w.next) + 1)) }
	switch w.rng.IntN(6) {
	case 0, 1:
		a.Scale = &reshape.Scale{Workers: w.rng.IntN(6), Servers: w.rng.IntN(5)}
	case 2, 3:
		a.Drain = &reshape.Drain{Node: node()}
		if w.rng.IntN(2) == 0 {
			a.Drain.NoticeMillis = 1 + w.rng.Int64N(3000)
		}
	case 4:
		a.Switch = &reshape.Switch{Node: node(), Role: reshape.Role(1 + w.rng.IntN(3))}
	case 5:
		a.Shape = []shape.Policy{shape.Random(w.rng.Uint64(), 2), shape.AddOne(w.rng.Uint64()), shape.DeleteOne(w.rng.Uint64()), shape.Even, w.uneven(w.rng.Uint64())}[w.rng.IntN(5)]
	}
	return a
}

// uneven deals by random shares to the nodes that there are.
func (w *world) uneven(seed uint64) shape.Policy {
	return func(now shape.Snapshot) (shape.Decision, error) {
		w.shares = true
		rng := rand.New(rand.NewPCG(seed, 3))
		shares := shape.Shares{Splits: map[bellows.NodeID]int{}, Partitions: map[bellows.NodeID]int{}}
		for _, n := range now.Nodes {
			shares.Splits[n.ID], shares.Partitions[n.ID] = 1+rng.IntN(5), 1+rng.IntN(5)
		}
		return shape.DealShares(now, now.Nodes, shares)
	}
}

// obey carries effects out, and looks at each.
func (w *world) obey(fx *reshape.Effects) {
	for _, n := range fx.Notes {
		w.notes = append(w.notes, fmt.Sprintf("%6d  %s", w.clock, n.Sentence))
		if n.Sentence == "" {
			w.fail("a note without a sentence")
		}
	}
	for _, id := range fx.Abandon {
		o := w.open[id]
		if o == nil || o.abandoned {
			w.fail("op %d is abandoned, which is not under way or was before", id)
		}
		o.abandoned = true
		w.counts["abandoned"]++
		w.after(w.rng.Int64N(100), func() { w.end(o) })
	}
	for _, o := range fx.Outcomes {
		q := w.asked[o.Ask]
		if q == nil { // by the Ask itself
			q = &question{at: w.clock}
			w.asked[o.Ask] = q
		}
		if q.outcome != nil {
			w.fail("ask %d is answered twice", o.Ask)
		}
		w.notes = append(w.notes, fmt.Sprintf("%6d  ask %d: %q", w.clock, o.Ask, o.Err))
		q.outcome = &o
		w.answers++
		w.judge(q)
	}
	for _, op := range fx.Begin { // answered in this step, so not waited for
		w.begin(op)
	}
}

// judge looks at an answer: what is said to be done is.
func (w *world) judge(q *question) {
	o := q.outcome
	if o.Millis != w.clock-q.at {
		w.fail("ask %d: %d ms, not %d", o.Ask, o.Millis, w.clock-q.at)
	}
	if d := q.Drain; d != nil {
		if d.NoticeMillis > 0 && o.Millis > d.NoticeMillis {
			w.fail("ask %d: the notice of %d ms is over since %d ms", o.Ask, d.NoticeMillis, o.Millis-d.NoticeMillis)
		}
		if o.Err == "" && w.hasNode(d.Node) {
			w.fail("ask %d: node %d is said to have left", o.Ask, d.Node)
		}
	}
	switch {
	case o.Err == "":
		w.counts["done"]++
	case o.Superseded:
		w.counts["superseded"]++
	default:
		w.counts["failed"]++
	}
	if len(o.Left) > 0 && o.Err == "" {
		w.fail("ask %d leaves something, and is done", o.Ask)
	}
}

// key returns what an op changes.
func key(s *plan.Step) string {
	if s.Kind == plan.Move {
		return fmt.Sprintf("move %d %d", s.Split, s.Partition)
	}
	return fmt.Sprintf("node %d", s.Node)
}

// begin begins an op that may be.
func (w *world) begin(op reshape.Op) {
	s := &op.Step
	w.counts[s.Kind.String()]++
	adds, moves, bytes := 0, map[bellows.NodeID]int{}, map[bellows.NodeID]int64{}
	for _, o := range w.open {
		if key(&o.Step) == key(s) && s.Kind != plan.Add {
			w.fail("%v begins beside %v", s, &o.Step)
		}
		if o.Kind == plan.Add {
			adds++
		}
		if o.Kind == plan.Move && o.Bytes > 0 {
			moves[o.Node]++
			bytes[o.Node] += o.Bytes
			if o.From.Node != o.Node {
				moves[o.From.Node]++
				bytes[o.From.Node] += o.Bytes
			}
		}
		if s.Kind == plan.Delete && (o.Node == s.Node || o.Kind == plan.Move && o.From.Node == s.Node) {
			w.fail("%v begins beside %v", s, &o.Step)
		}
		if s.Kind == plan.Move && o.Kind == plan.Delete && (o.Node == s.Node || o.Node == s.From.Node) {
			w.fail("%v begins beside %v", s, &o.Step)
		}
	}
	switch s.Kind {
	case plan.Add:
		if adds >= w.adds || w.hasNode(s.Node) || s.Slots != w.host.Slots || s.Lanes != w.host.Lanes {
			w.fail("%v begins beside %d others", s, adds)
		}
	case plan.Delete:
		if s.Node == reshape.Leader {
			w.fail("%v", s)
		}
		if w.deaths == 0 && (slices.Contains(w.facts.Splits, s.Node) || slices.Contains(w.facts.Partitions, s.Node)) {
			w.fail("%v, which has something yet", s)
		}
	case plan.Move:
		for _, n := range []bellows.NodeID{s.Node, s.From.Node} {
			hurries := op.Urgent && bytes[n]+s.Bytes <= w.hurried
			if hurries && moves[n] >= w.limit {
				w.counts["hurried"]++
			}
			if s.Bytes > 0 && moves[n] >= w.limit && !hurries {
				w.fail("%v begins beside %d others with %d bytes", s, moves[n], bytes[n])
			}
		}
		if to := slices.IndexFunc(w.facts.Nodes, func(n shape.Node) bool { return n.ID == s.Node }); to >= 0 {
			if n := w.facts.Nodes[to]; s.Split >= 0 && n.Slots == 0 || s.Split < 0 && n.Lanes == 0 {
				w.fail("%v, which cannot have it", s)
			}
		} else if w.deaths == 0 {
			w.fail("%v, which is not there", s)
		}
		for _, q := range w.asked {
			if d := q.Drain; d != nil && q.outcome == nil && d.Node == s.Node {
				w.fail("%v, which is to leave", s)
			}
			if d := q.Drain; d != nil && q.outcome == nil && d.Node == s.From.Node && d.NoticeMillis > 0 && w.clock-q.at >= d.NoticeMillis-min(d.NoticeMillis/10, 1000) {
				w.fail("%v begins at the end of the notice", s)
			}
		}
	default:
		w.fail("%v begins", s)
	}
	o := &working{Op: op}
	w.open[op.ID] = o
	millis := 1 + w.rng.Int64N(400) + s.Bytes/4
	w.after(millis, func() { w.end(o) })
}

// end ends an op that has not ended, done or not. It is reported later, with the job as it was seen then.
func (w *world) end(o *working) {
	if o.ended {
		return
	}
	o.ended = true
	s := &o.Step
	end := reshape.End{Node: s.Node}
	f := &w.facts
	switch {
	case s.Kind == plan.Add:
		end.Node = w.next
		w.next++ // a number is not used again
		if o.abandoned && w.rng.IntN(3) > 0 {
			end.Err = "nobody waits for it"
		} else if end.Err = w.refusal(s); end.Err == "" {
			f.Nodes = append(f.Nodes, shape.Node{ID: end.Node, Slots: s.Slots, Lanes: s.Lanes})
		}
	case !w.hasNode(s.Node):
		end.Err = "it is not there"
	case s.Kind == plan.Move && !w.hasNode(s.From.Node):
		end.Err = "who had it is not there"
	case o.abandoned && w.rng.IntN(2) == 0:
		end.Err = "it was abandoned"
	case s.Kind == plan.Delete && (slices.Contains(w.facts.Splits, s.Node) || slices.Contains(w.facts.Partitions, s.Node)):
		end.Err = "it has been given something since"
	case w.stubborn[key(s)]:
		end.Err, end.Final = "it cannot be moved", true
	default:
		if end.Err = w.refusal(s); end.Err != "" {
			break
		}
		switch {
		case s.Kind == plan.Delete:
			f.Nodes = slices.DeleteFunc(slices.Clone(f.Nodes), func(n shape.Node) bool { return n.ID == s.Node })
		case s.Split >= 0:
			f.Splits = slices.Clone(f.Splits)
			f.Splits[s.Split] = s.Node
		default:
			f.Partitions = slices.Clone(f.Partitions)
			f.Partitions[s.Partition] = s.Node
		}
	}
	if end.Err == "" {
		f.Version++
	}
	seen := w.seen()
	delay := w.rng.Int64N(3)
	if s.Kind == plan.Add && end.Err == "" && w.rng.IntN(2) == 0 { // the job shows the node long before the op ends
		w.counts["seen before it had come"]++
		delay = w.rng.Int64N(600)
		w.after(0, func() {
			var fx reshape.Effects
			w.machine.Observe(seen, &fx)
			w.obey(&fx)
		})
	}
	w.after(delay, func() {
		delete(w.open, o.ID)
		var fx reshape.Effects
		w.machine.Ended(o.ID, end, seen, &fx)
		w.obey(&fx)
	})
	if w.rng.IntN(4) == 0 {
		late := w.seen()
		w.after(w.rng.Int64N(200), func() {
			var fx reshape.Effects
			w.machine.Observe(late, &fx)
			w.obey(&fx)
		})
	}
}

func (w *world) refusal(*plan.Step) string {
	if !w.calm && w.rng.IntN(6) == 0 {
		w.counts["refused"]++
		return "not now"
	}
	return ""
}

// dies ends a node; its parts get other owners, at once or later.
func (w *world) dies(n bellows.NodeID) {
	if w.calm || n == reshape.Leader || !w.hasNode(n) {
		return
	}
	w.deaths++
	w.counts["dead"]++
	f := &w.facts
	f.Nodes = slices.DeleteFunc(slices.Clone(f.Nodes), func(o shape.Node) bool { return o.ID == n })
	f.Version++
	told := func() {
		var fx reshape.Effects
		w.machine.Observe(w.seen(), &fx)
		w.obey(&fx)
	}
	recovered := func() {
		f.Splits, f.Partitions = slices.Clone(f.Splits), slices.Clone(f.Partitions)
		for s, at := range f.Splits {
			if at == n {
				f.Splits[s] = w.draw(func(n shape.Node) bool { return n.Slots > 0 })
			}
		}
		for p, at := range f.Partitions {
			if at == n {
				f.Partitions[p] = w.draw(func(n shape.Node) bool { return n.Lanes > 0 })
			}
		}
		f.Version++
		told()
	}
	if w.rng.IntN(2) == 0 {
		recovered()
		return
	}
	told()
	w.after(w.rng.Int64N(500), recovered)
}

// look holds what must be true at every moment.
func (w *world) look() {
	if p, ok := w.machine.Progress(); ok && (p.Bytes > p.All || p.Steps > p.Of || p.Reason == "") {
		w.fail("progress %+v", p)
	}
}

// play makes many events happen, then none, until all is quiet.
func (w *world) play() {
	happenings := 3 + w.rng.IntN(8)
	at := int64(0)
	for range happenings {
		at += w.rng.Int64N(800)
		switch w.rng.IntN(8) {
		case 0:
			w.after(at, func() { w.dies(bellows.NodeID(w.rng.IntN(int(w.next)))) })
		case 1:
			w.after(at, func() {
				var fx reshape.Effects
				if w.rng.IntN(3) == 0 {
					w.machine.Cancel(&fx)
				} else {
					w.machine.Withdraw(reshape.AskID(1+w.rng.IntN(len(w.asked)+1)), &fx)
				}
				w.counts["cancelled"]++
				w.obey(&fx)
			})
		case 2:
			w.after(at, func() {
				s := plan.Step{Kind: plan.Move, Split: w.rng.IntN(len(w.facts.Splits)), Partition: -1}
				w.stubborn[key(&s)] = true
			})
		default:
			w.after(at, func() { w.ask(w.randomAsk()) })
		}
	}
	w.quiet()
}

// quiet continues until nothing happens any more.
func (w *world) quiet() {
	for n := 0; w.step(); n++ {
		if n > 20_000 {
			w.fail("it does not end")
		}
	}
	for id, q := range w.asked {
		if q.outcome == nil {
			w.fail("ask %d has no answer: %+v", id, q.Ask)
		}
	}
	if len(w.open) > 0 {
		w.fail("%d ops are under way", len(w.open))
	}
	if _, ok := w.machine.Progress(); ok {
		w.fail("something is wanted still")
	}
}

// last asks for numbers of nodes when all is calm, which come about.
func (w *world) last() {
	w.calm, w.stubborn = true, map[string]bool{}
	workers, servers := 1+w.rng.IntN(min(5, len(w.facts.Splits))), 1+w.rng.IntN(5)
	id := w.ask(reshape.Ask{Scale: &reshape.Scale{Workers: workers, Servers: servers}})
	w.quiet()
	if o := w.asked[id].outcome; o.Err != "" {
		able := shape.Shape{Nodes: w.facts.Nodes}
		if a, b := able.Counts(); a > 1 && b > 1 && !strings.Contains(o.Err, "there are") {
			w.fail("%d workers and %d servers do not come about: %s", workers, servers, o.Err)
		}
		w.counts["short"]++
		return
	}
	perNode := map[bellows.NodeID]int{}
	for _, n := range w.facts.Splits {
		if !w.hasNode(n) {
			w.fail("a split is at node %d, which is not there", n)
		}
		perNode[n]++
	}
	least, most := len(w.facts.Splits), 0
	for _, n := range perNode {
		least, most = min(least, n), max(most, n)
	}
	if len(perNode) != workers || most-least > 1 && !w.shares {
		w.fail("%d workers have %v splits, of %d that are wanted", len(perNode), perNode, workers)
	}
	holds := map[bellows.NodeID]bool{}
	for _, n := range w.facts.Partitions {
		if !w.hasNode(n) {
			w.fail("a partition is at node %d, which is not there", n)
		}
		holds[n] = true
	}
	if len(holds) > servers || len(holds) < min(servers, len(w.facts.Partitions)) && !w.shares {
		w.fail("%d of %d servers hold partitions", len(holds), servers)
	}
	if drained := id; drained > 0 {
		w.counts["whole"]++
	}
}

// orders is how many jobs TestAnyOrderReachesTheGoal plays. The soak plays more.
var orders = uint64(1500)

// TestAnyOrderReachesTheGoal plays thousands of jobs that are asked for shapes, drains and switches while steps are
// refused, nodes die, and what was asked is cancelled or superseded, in any order of their ends. When all is calm, what
// is asked last comes about.
func TestAnyOrderReachesTheGoal(t *testing.T) {
	seeds := orders
	counts := map[string]int{}
	for seed := uint64(1); seed <= seeds; seed++ {
		w := newWorld(t, seed)
		w.play()
		w.last()
		for k, n := range w.counts {
			counts[k] += n
		}
	}
	t.Log(counts)
	for _, k := range []string{"add", "move", "delete", "abandoned", "refused", "dead", "done", "superseded", "failed", "cancelled", "whole", "seen before it had come"} {
		if counts[k] < int(seeds)/10 {
			t.Errorf("%s: %d in %d jobs is no test of it: %v", k, counts[k], seeds, counts)
		}
	}
	if counts["hurried"] < int(seeds)/10 {
		t.Errorf("%d moves were hurried beyond the limit of a node, in %d orders", counts["hurried"], seeds)
	}
	if counts["short"] > int(seeds)/10 {
		t.Errorf("%d of %d did not come to what is asked last", counts["short"], seeds)
	}
}
