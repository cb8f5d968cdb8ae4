package lab

import (
	"errors"
	"slices"
	"time"

	"bellows"
	"bellows/link/wire"
	"bellows/policy/reshape"
	"bellows/policy/shape"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/reshaping"
	"bellows/sim/internal/trace"
)

// shaping is the commands by which the machine of policy/reshape drives the job (reshaping.Job). No node is added that way.
type shaping struct{ w *world }

// shaper returns the driver of this life's shape.
func (w *world) shaper() *reshaping.Shaper {
	if w.shape == nil {
		w.shape = reshaping.New(&trace.Trace{Clock: new(int64)}, new(coverage.Coverage), shaping{w})
		w.keepRoles()
		w.shape.OnAnswer = func(o *reshape.Outcome) {
			if w.advising.answered(o, w.elapsed()) {
				return
			}
			i, some := w.happen.asked[o.Ask]
			if !some {
				i = w.happen.asking
			}
			w.happened(i, o.Err)
		}
	}
	return w.shape
}

// ask asks for another shape of the job, for an event of the script.
func (w *world) ask(i int, a reshape.Ask) {
	w.happen.asking = i
	id, taken := w.shaper().Ask(a)
	switch {
	case !taken:
		w.happened(i, "the job is over")
	case w.happen.asked == nil:
		w.happen.asked = map[reshape.AskID]int{id: i}
	default:
		w.happen.asked[id] = i
	}
}

// look lets the driver of the shape see what has come about.
func (w *world) look() {
	if w.shape == nil {
		return
	}
	w.shape.Look(w.nodes[0].lead.Ending())
	if v := w.shape.Violation; v != "" {
		w.fail(bellows.Errorf(bellows.Bug, "run experiment", "", "%s", v))
	}
}

func (s shaping) lead() *lead { return s.w.nodes[0].lead }

// give gives a command and carries out what follows.
func (s shaping) give(do func(l *lead) error) error {
	l := s.lead()
	if l.Ending() {
		return bellows.Errorf(bellows.Interrupted, "reshape", "", "the job is over")
	}
	err := do(l)
	s.w.agenda.After(0, event{what: leadObeys})
	return err
}

// Version implements reshaping.Job.
func (s shaping) Version() (uint64, bool) {
	return uint64(s.lead().Route().Version()), s.lead().Begun() && !s.lead().Ending()
}

// Facts implements reshaping.Job.
func (s shaping) Facts() (f reshape.Facts, known bool) {
	r := s.lead().Route()
	if f.Version, known = s.Version(); !known {
		return f, false
	}
	for _, n := range s.w.nodes {
		m := shape.Node{ID: n.id}
		for _, a := range r.Lanes() {
			if a.Node == n.id {
				m.Lanes++
			}
		}
		if slices.Contains(r.Clients(), wire.ClientAt(n.id)) {
			m.Slots = n.places
		}
		if m.Lanes+m.Slots > 0 && !s.lead().Gone(n.id) {
			f.Nodes = append(f.Nodes, m)
		}
	}
	for split := range bellows.SplitID(r.Splits()) {
		f.Splits = append(f.Splits, r.Node(split))
	}
	f.Tables = make([]int, len(s.w.common.Tables))
	for ref := range r.Each() {
		f.Tables[ref.Table]++
		f.Partitions = append(f.Partitions, r.Owner(ref).Lane.Node)
		t := &s.w.common.Tables[ref.Table]
		f.Sizes.Partitions = append(f.Sizes.Partitions, int64(4*t.Rows*t.Width)/int64(r.Cut(ref.Table).Len()))
	}
	return f, true
}

// Add implements reshaping.Job.
func (s shaping) Add(int, int) (bellows.NodeID, error) {
	return 0, bellows.Errorf(bellows.Config, "add a node", "", "nodes of the laboratory join by Config.Growth")
}

// Uninvite implements reshaping.Job.
func (s shaping) Uninvite(bellows.NodeID) {}

// MoveSplit implements reshaping.Job.
func (s shaping) MoveSplit(split bellows.SplitID, to bellows.NodeID) error {
	return s.give(func(l *lead) error { return l.MoveSplit(split, to, &l.fx) })
}

// StaySplit implements reshaping.Job.
func (s shaping) StaySplit(split bellows.SplitID) error {
	return s.MoveSplit(split, s.lead().Route().Node(split))
}

// MovePartition implements reshaping.Job.
func (s shaping) MovePartition(p int, to bellows.NodeID, urgent bool) error {
	return s.give(func(*lead) error { return s.w.movePartition(p, to, urgent) })
}

// StayPartition implements reshaping.Job.
func (s shaping) StayPartition(p int) error {
	return s.give(func(l *lead) error {
		l.CancelMove(s.w.partition(p), &l.fx)
		return nil
	})
}

// Remove implements reshaping.Job.
func (s shaping) Remove(n bellows.NodeID) error {
	return s.give(func(l *lead) error { return l.Remove(n, &l.fx) })
}

// Joined implements reshaping.Job.
func (s shaping) Joined(bellows.NodeID) (bool, error) { return true, errors.New("no node was invited") }

// HasLeft implements reshaping.Job.
func (s shaping) HasLeft(n bellows.NodeID) bool { return s.w.nodes[n].gone }

// Later implements reshaping.Job.
func (s shaping) Later(do func()) { s.w.agenda.After(0, event{what: later, do: do}) }

// Millis implements reshaping.Job.
func (s shaping) Millis() int64 { return int64(s.w.elapsed() / time.Millisecond) }
