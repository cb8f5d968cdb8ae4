package coverage

import (
	"slices"

	"bellows"
	"bellows/link/wire"
)

// Watch adds the events that come about by messages alone.
type Watch struct {
	*Coverage
	Words   bellows.TableID // the sparse table
	Records int             // the most records in one message
	Commits int             // the most flushes in one Committed
	Divided func(results []wire.Result) (apart, together bool)
	Handed  func(bellows.SplitID) bellows.Clock // clocks of a split that were handed out
	Buried  func(bellows.NodeID) bool           // a record says that the node is lost
}

// Posted adds what actors post.
func (w *Watch) Posted(e wire.Envelope) {
	w.HitIf("lost-and-spoke", e.From.Node != e.To.Node && w.Buried(e.From.Node))
	switch m := e.Message.(type) {
	case *wire.Pull:
		w.HitIf("keys-subscribed-to", slices.ContainsFunc(m.Parts, func(p wire.PullPart) bool { return p.Subscribe && p.Keys != nil }))
	case *wire.Rows:
		w.HitIf("keys-sent-unasked", slices.ContainsFunc(m.Parts, func(p wire.RowsPart) bool { return len(p.Keys) > 0 }))
	case *wire.Unsubscribe:
		w.HitIf("keys-given-up", m.Ref.Table == w.Words)
	case *wire.Records:
		w.HitIf("records-full", len(m.List) == w.Records)
		for i := range m.List {
			if m.List[i].Control.Kind != bellows.NoControl {
				continue
			}
			w.HitIf("flush-of-several-splits", len(m.List[i].Results) > 1)
			apart, together := w.Divided(m.List[i].Results)
			w.HitIf("units-apart", apart)
			w.HitIf("units-together", together)
		}
	case *wire.Recalled:
		w.HitIf("units-given-back", m.Clock+1 < w.Handed(m.Split))
	case *wire.Route:
		w.HitIf("lane-begun-in-mid-clock", e.To.Role == wire.Lane && m.Begin != nil && len(m.Begin.Open) > 0)
	}
}

// After adds what lanes send together.
func (w *Watch) After(_ wire.Address, out []wire.Envelope) {
	unasked := -1 // the client that was last sent rows it did not ask for
	for i := range out {
		switch m := out[i].Message.(type) {
		case *wire.Rows:
			if m.Request == 0 {
				w.HitIf("rows-unasked-split", unasked == int(out[i].To.Node))
				unasked = int(out[i].To.Node)
			}
		case *wire.Committed:
			w.HitIf("commitments-split", len(m.List) == w.Commits)
		}
	}
}
