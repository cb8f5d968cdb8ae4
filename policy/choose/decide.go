package choose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bellows"
	"bellows/core/planted"
	"bellows/policy/gauge"
	"bellows/policy/shape"
)

// gainLeast is the share of an epoch that a change must win at least. The paper has a fixed 5 % and nothing else
// (§IV.A.2).
const gainLeast = 0.03

// Memory is what a job remembers of the shapes that it has had. It is kept in the log of the run.
//
// The invariant is that of Step: in one state of the world a shape is tried once.
type Memory struct {
	World []gauge.Node `json:"world,omitempty"` // the nodes when the trials were made
	Tried []Trial      `json:"tried,omitempty"`
}

// Trial is a shape that the job has changed to, or begun with.
type Trial struct {
	Shape     string          `json:"shape"` // by Name
	Predicted *gauge.Interval `json:"predicted,omitempty"`
	Measured  *gauge.Interval `json:"measured,omitempty"` // nil: not for long enough
}

// Present is the shape that a job has.
type Present struct {
	Shape    string         // by Name
	Measured gauge.Interval // seconds of an epoch
	Clocks   int            // measured since the job has it
}

// Candidate is a shape that a job may change to.
type Candidate struct {
	Shape  string         // by Name
	Epoch  gauge.Interval // predicted seconds
	Moving gauge.Interval // seconds that the change would cost
}

// Verdict is what a job does.
type Verdict struct {
	Change bool
	To     int    // the candidate, if it changes
	Reason string // a sentence for people, without its end
}

// Step decides whether a job changes its shape (§IV.A.2). It does so if the lower end of the gain, in the clocks that
// are left, exceeds the upper end of the cost of moving, and 3 %. If nothing says how many are left, these are as many
// as have passed.
//
// A shape that was measured is judged by that, and no more by its prediction: one that did not keep what was predicted
// is left for the best measured one. No shape is tried twice while the nodes are the same and their figures stay within
// their intervals. A change back, to a shape that was measured, needs another one after it that was not.
func (m *Memory) Step(f *gauge.Figures, now Present, candidates []Candidate) Verdict {
	m.look(f.Nodes, &now)
	at := m.trial(now.Shape)
	if n := gauge.ClocksLeast - now.Clocks; n > 0 && !planted.On("one-clock-trusted") {
		const few = "the present shape was measured for %d clocks; it takes %d more"
		return Verdict{Reason: fmt.Sprintf(few, now.Clocks, n)}
	}
	held := ""
	if at.Measured == nil {
		measured := now.Measured
		at.Measured = &measured
		if at.Predicted != nil {
			held = judge(*at.Predicted, measured)
		}
	}
	left := f.Clocks.Expected
	if left == 0 {
		left = f.Clocks.Passed
	}
	v := Verdict{Reason: "no other shape is expected to be faster"}
	best := 0.0
	for i := range candidates {
		c := &candidates[i]
		if c.Shape == now.Shape {
			continue
		}
		won, reason := m.gain(c, *at.Measured, float64(left)/float64(f.Clocks.Epoch))
		if won > best {
			best, v = won, Verdict{Change: true, To: i, Reason: reason}
		} else if best == 0 && reason != "" {
			v.Reason = reason
		}
	}
	if v.Change {
		if c := &candidates[v.To]; m.find(c.Shape) == nil {
			m.Tried = append(m.Tried, Trial{Shape: c.Shape, Predicted: &c.Epoch})
		}
	}
	if held != "" {
		v.Reason = held + "; " + v.Reason
	}
	return v
}

// gain returns the seconds that a change wins at least, or 0 if it is not to be. epochs are those that are left.
func (m *Memory) gain(c *Candidate, now gauge.Interval, epochs float64) (float64, string) {
	then := c.Epoch
	if t := m.find(c.Shape); t != nil && !planted.On("tried-again") {
		if t.Measured == nil { // it was left before it was measured, and is not tried again
			return 0, ""
		}
		then = *t.Measured
	}
	low := now.Low - then.High
	if planted.On("mean-for-lower-end") {
		low = now.Value - then.Value
	}
	if planted.On("clocks-left-forgotten") {
		epochs = max(epochs, 1e6)
	}
	cost := c.Moving.High
	if planted.On("cost-of-moving-forgotten") {
		cost = 0
	}
	moving := fmt.Sprintf("moving costs up to %.3g s", cost)
	switch {
	case low <= gainLeast*now.Value:
		const least = "the best other shape wins %.3g s an epoch at least, which is not above 3 %%"
		return 0, fmt.Sprintf(least, max(0, low))
	case low*epochs <= cost:
		const left = "the best other shape wins %.3g s at least in the %.3g epochs that are left, and %s"
		return 0, fmt.Sprintf(left, low*epochs, epochs, moving)
	}
	const change = "an epoch takes %.3g s and is expected to take %.3g s; %s"
	return low*epochs - cost, fmt.Sprintf(change, now.Value, then.Value, moving)
}

// find returns what is known of a shape, or nil.
func (m *Memory) find(shape string) *Trial {
	for i := range m.Tried {
		if m.Tried[i].Shape == shape {
			return &m.Tried[i]
		}
	}
	return nil
}

// trial returns the trial of the present shape.
func (m *Memory) trial(shape string) *Trial {
	if t := m.find(shape); t != nil {
		return t
	}
	m.Tried = append(m.Tried, Trial{Shape: shape})
	return &m.Tried[len(m.Tried)-1]
}

// look forgets all trials if the world is another one. Figures depend on the shape a little: a node without tasks shows
// less of its processor. So the first ones that are measured in a shape widen what the world is known by, and a change
// of shape alone never makes it another one (TestShapesOwnFiguresMakeNoOtherWorld).
func (m *Memory) look(nodes []gauge.Node, now *Present) {
	t := m.find(now.Shape)
	first := t == nil || t.Measured == nil
	switch {
	case m.World == nil || !slices.EqualFunc(m.World, nodes, sameNode),
		!first && !slices.EqualFunc(m.World, nodes, sameFigures):
		*m = Memory{World: slices.Clone(nodes)}
	case first && now.Clocks >= gauge.ClocksLeast:
		for i := range m.World {
			for _, figure := range figuresOf {
				v, w := figure(&m.World[i]), figure(&nodes[i])
				*v = gauge.Interval{Value: v.Value, Low: min(v.Low, w.Low), High: max(v.High, w.High)}
			}
		}
	}
}

// judge says whether a prediction came true.
func judge(predicted, measured gauge.Interval) string {
	text := "held"
	if measured.Low > predicted.High {
		text = "did not hold"
	}
	return fmt.Sprintf("the prediction of %.3g s %s: an epoch takes %.3g s", predicted.Value, text, measured.Value)
}

// sameNode reports whether two nodes are the same one, and can run the same.
func sameNode(a, b gauge.Node) bool { return a.ID == b.ID && a.Slots == b.Slots && a.Lanes == b.Lanes }

// sameFigures reports whether the figures of a node may still be the same.
func sameFigures(then, now gauge.Node) bool {
	for _, figure := range figuresOf {
		if v, w := figure(&then), figure(&now); v.Low > w.High || w.Low > v.High {
			return false
		}
	}
	return true
}

// Share is how many splits and partitions a node has.
type Share struct{ Splits, Partitions int }

// ParseName returns what the nodes have in a shape with a name.
func ParseName(name string) (map[bellows.NodeID]Share, error) {
	shares := map[bellows.NodeID]Share{}
	for word := range strings.FieldsSeq(name) {
		var node, splits, parts int
		n, err := fmt.Sscanf(word, "node-%d:%d+%d", &node, &splits, &parts)
		if err != nil || n != 3 || node < 0 || node >= math.MaxUint16 || splits < 0 || parts < 0 {
			return nil, fmt.Errorf("%q is no share of a node", word)
		}
		shares[bellows.NodeID(node)] = Share{splits, parts}
	}
	return shares, nil
}

// Name returns the name of a shape in a job's memory: the numbers of splits and partitions of its nodes.
func Name(s *shape.Shape) string {
	splits, parts := map[bellows.NodeID]int{}, map[bellows.NodeID]int{}
	for _, n := range s.Splits {
		splits[n]++
	}
	for _, p := range s.Partitions {
		parts[p.Node]++
	}
	var words []string
	for _, n := range s.Nodes {
		if splits[n.ID]+parts[n.ID] > 0 {
			words = append(words, fmt.Sprintf("node-%d:%d+%d", n.ID, splits[n.ID], parts[n.ID]))
		}
	}
	return strings.Join(words, " ")
}
