package dryrun

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/figures"
	"bellows/policy/choose"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/shape"

	"github.com/spf13/cobra"
)

// predicted is what `plan shape --figures` prints.
type predicted struct {
	Now    expected   `json:"now"`
	Chosen expected   `json:"chosen"`
	Shapes []expected `json:"shapes"`        // of every number of workers and servers
	Bound  float64    `json:"bound_seconds"` // of an epoch, which no shape can beat
	Moves  moves      `json:"moves"`         // from now to the chosen one
	Steps  []step     `json:"steps"`
	Rounds int        `json:"rounds"`
	// Change is whether the change is worth its cost in the clocks that are left.
	Change bool   `json:"change"`
	Reason string `json:"reason"`
}

// expected is what is expected of a shape.
type expected struct {
	Workers int             `json:"workers"` // nodes that run tasks
	Servers int             `json:"servers"` // nodes that hold partitions
	Both    int             `json:"both"`    // nodes that do both, and count as either
	Seconds *gauge.Interval `json:"epoch_seconds,omitempty"`
	Limit   string          `json:"limit,omitempty"`  // the part that takes the most time
	Memory  string          `json:"memory,omitempty"` // the node with too little
}

// moves is what a change of shape moves.
type moves struct {
	Partitions int            `json:"partitions"`
	Splits     int            `json:"splits"`
	Bytes      int64          `json:"bytes"`
	Seconds    gauge.Interval `json:"seconds"` // that the job would lose
}

// withFigures are the flags that --figures and --job allow.
var withFigures = []string{"figures", "job", "state", "workers", "servers", "pin", "apart", "at-once"}

// predict prints what shapes would give a job with measured figures.
func (o *options) predict(c *screen.Console, cmd *cobra.Command) error {
	for _, name := range slices.Concat(described, []string{"snapshot", "print-snapshot", "to", "policy", "seed"}) {
		if f := cmd.Flag(name); f.Changed && !slices.Contains(withFigures, name) {
			return line.BadFlag(name, f.Value.String(), "the figures say it; leave this out, or leave out --figures and --job")
		}
	}
	ask, err := Demand(o.workers, o.servers, o.pins)
	ask.Apart = o.apart
	if err != nil {
		return err
	}
	f, err := o.measured(cmd.Context(), c)
	if err != nil {
		return err
	}
	best, err := choose.Find(f, ask)
	if err != nil {
		return bellows.Errorf(bellows.Refused, "choose a shape", "", "%w", err)
	}
	p, err := explain(f, best, o.atOnce)
	if err != nil {
		return err
	}
	p.write(c, f)
	return c.Object(p)
}

// measured returns the figures that are asked about.
func (o *options) measured(ctx context.Context, c *screen.Console) (*gauge.Figures, error) {
	switch {
	case o.job != "" && o.figures != "":
		return nil, line.BadFlag("job", o.job, "the figures are those of --figures; leave one of the two out")
	case o.job != "":
		return o.figuresOf(ctx, o.job)
	case o.stateFolder != "":
		return nil, line.BadFlag("state", o.stateFolder, "a file has no state folder; leave this out, or give --job")
	}
	text, err := content(o.figures, c.In)
	if err != nil {
		return nil, bellows.Errorf(bellows.NoInput, "read figures", o.figures, "%w", bellows.Pathless(err))
	}
	f, err := gauge.Read(text)
	if err != nil {
		return nil, bellows.Errorf(bellows.BadData, "read figures", o.figures, "%w", err)
	}
	return f, nil
}

// Demand returns what the flags --workers, --servers and --pin demand of a shape, each a number or a range A:B, and
// NODE=ROLE. Empty: nothing.
func Demand(workers, servers string, pins []string) (choose.Ask, error) {
	a := choose.Ask{Pins: map[bellows.NodeID]choose.Role{}}
	for _, f := range []struct {
		name, text string
		to         *choose.Bounds
	}{{"workers", workers, &a.Workers}, {"servers", servers, &a.Servers}} {
		if f.text == "" {
			continue
		}
		low, high, err := parseWorkers(f.text)
		switch {
		case err == nil && (low < 1 || high > nodesMost):
			err = fmt.Errorf("it must be from 1 to %d", nodesMost)
		case low > high:
			err = fmt.Errorf("%d is more than %d; give the smaller number first", low, high)
		}
		if err != nil {
			return a, line.BadFlag(f.name, f.text, "%v", err)
		}
		*f.to = choose.Bounds{Low: low, High: high}
	}
	roles := map[string]choose.Role{}
	for _, r := range []choose.Role{choose.Unused, choose.Worker, choose.Server, choose.Both} {
		roles[r.String()] = r
	}
	for _, word := range pins {
		node, role, _ := strings.Cut(word, "=")
		n, err := strconv.ParseUint(strings.TrimPrefix(node, "node-"), 10, 16)
		r, known := roles[role]
		if _, twice := a.Pins[bellows.NodeID(n)]; err != nil || !known || twice {
			return a, line.BadFlag("pin", word, "write a node and its role once, as in node-3=server; roles are worker, server, both, unused")
		}
		a.Pins[bellows.NodeID(n)] = r
	}
	return a, nil
}

// explain compares the present shape with the chosen one, and plans the way.
func explain(f *gauge.Figures, best *choose.Choice, atOnce int) (*predicted, error) {
	m, now := cost.New(f), f.Shape()
	at := m.Predict(m.Loads(&now))
	out := &predicted{Now: expectedOf(&now, at), Chosen: expectedOf(&best.Shape, best.Prediction), Bound: best.Bound}
	for i := range best.Rows {
		r := &best.Rows[i]
		e := expected{Workers: r.Workers + r.Both, Servers: r.Servers + r.Both, Both: r.Both}
		p := best.Predict(r)
		if e.Seconds, e.Limit = &p.Epoch, p.Limit.OfAny(); r.Memory != nil {
			e = expected{Workers: e.Workers, Servers: e.Servers, Both: e.Both, Memory: r.Memory.Error()}
		}
		out.Shapes = append(out.Shapes, e)
	}
	st := &state{Snapshot: shape.Snapshot{Job: f.Job(), Shape: now}}
	for i := range f.Partitions {
		st.sizes.Partitions = append(st.sizes.Partitions, f.Partitions[i].Bytes)
	}
	for i := range f.Splits {
		st.sizes.Splits = append(st.sizes.Splits, f.Splits[i].Moved)
	}
	const predicted = "an epoch is predicted to take %s s, and %s s in the present shape"
	reason := fmt.Sprintf(predicted, figures.Duration(best.Epoch.Value), figures.Duration(at.Epoch.Value))
	way, err := st.planTo(shape.Decision{Shape: best.Shape, Reason: reason}, atOnce)
	if err != nil {
		return nil, err
	}
	out.Steps, out.Rounds, out.Moves.Bytes = way.Steps, way.Rounds, way.Bytes
	for i := range way.Steps {
		switch s := &way.Steps[i]; {
		case s.Split != nil:
			out.Moves.Splits++
		case s.Partition != nil:
			out.Moves.Partitions++
		}
	}
	out.Moves.Seconds = m.Moving(way.Bytes, len(way.Steps), way.Rounds, at.Epoch)
	var memory choose.Memory
	present := choose.Present{Shape: choose.Name(&now), Measured: at.Epoch, Clocks: f.Clocks.Measured}
	candidate := choose.Candidate{Shape: choose.Name(&best.Shape), Epoch: best.Epoch, Moving: out.Moves.Seconds}
	v := memory.Step(f, present, []choose.Candidate{candidate})
	out.Change, out.Reason = v.Change, v.Reason
	return out, nil
}

func expectedOf(s *shape.Shape, p cost.Prediction) expected {
	e := expected{Seconds: &p.Epoch, Limit: p.Limit.String()}
	e.Workers, e.Servers = s.Counts()
	for _, n := range s.Nodes {
		if n.Slots > 0 && n.Lanes > 0 {
			e.Both++
		}
	}
	return e
}

// write writes the explanation for people: a line for each shape, then what would be done.
func (p *predicted) write(c *screen.Console, f *gauge.Figures) {
	c.Printf("%s and %s on %s; figures of %s; seconds of an epoch\n", figures.Plural(len(f.Splits), "split"),
		figures.Plural(len(f.Partitions), "partition"), figures.Plural(len(f.Nodes), "node"), figures.Plural(f.Clocks.Measured, "clock"))
	c.Printf("%8s %8s %6s %10s  %-22s %s\n", "workers", "servers", "both", "seconds", "interval", "limited by")
	for i := range p.Shapes {
		e := &p.Shapes[i]
		mark := ""
		if e.same(&p.Now) {
			mark = "  (now)"
		} else if e.same(&p.Chosen) {
			mark = "  (chosen)"
		}
		if e.Memory != "" {
			c.Printf("%8d %8d %6d %10s  %-22s %s%s\n", e.Workers, e.Servers, e.Both, "-", "", e.Memory, mark)
			continue
		}
		c.Printf("%8d %8d %6d %10s  %-22s %s%s\n", e.Workers, e.Servers, e.Both, figures.Duration(e.Seconds.Value),
			between(*e.Seconds, 0), e.Limit, mark)
	}
	c.Printf("now:    %s\n", &p.Now)
	c.Printf("chosen: %s\n", &p.Chosen)
	c.Printf("no shape is expected to take less than %s s; the chosen one takes up to %.1f %% more\n",
		figures.Duration(p.Bound), 100*(p.Chosen.Seconds.Value/p.Bound-1))
	if len(p.Steps) == 0 {
		c.Printf("nothing would change\n")
		return
	}
	m := &p.Moves
	c.Printf("the change would move %s and %s, %s; the job would lose %s s, from %s\n", figures.Plural(m.Partitions, "partition"),
		figures.Plural(m.Splits, "split"), figures.Bytes(uint64(m.Bytes)), figures.Duration(m.Seconds.Value), between(m.Seconds, p.Now.Seconds.Value))
	writeSteps(c, p.Steps, p.Rounds)
	worth := "it is not worth its cost"
	if p.Change {
		worth = "it is worth its cost"
	}
	c.Printf("%s: %s\n", worth, p.Reason)
	c.Printf("%s in %s; nothing was done\n", figures.Plural(len(p.Steps), "step"), figures.Plural(p.Rounds, "round"))
}

// same reports whether two shapes have the same numbers of nodes.
func (e *expected) same(as *expected) bool {
	return e.Workers == as.Workers && e.Servers == as.Servers && e.Both == as.Both
}

func (e *expected) String() string {
	both := ""
	if e.Both > 0 {
		both = fmt.Sprintf(" (%s)", figures.Plural(e.Both, "node")+" with both roles")
	}
	return fmt.Sprintf("%s and %s%s, %s s an epoch, from %s; limited by the %s", figures.Plural(e.Workers, "worker"),
		figures.Plural(e.Servers, "server"), both, figures.Duration(e.Seconds.Value), between(*e.Seconds, 0), e.Limit)
}

// boundMost is how many times the value an upper bound may be that says something.
const boundMost = 100

// between returns the interval of a time. An upper bound says nothing if it is far above the value, or above the time of
// an epoch where that is longer: links that were never full have none.
func between(v gauge.Interval, epoch float64) string {
	high := figures.Duration(v.High)
	if v.High > boundMost*max(v.Value, epoch) {
		high = "unknown"
	}
	return figures.Duration(v.Low) + " to " + high
}
