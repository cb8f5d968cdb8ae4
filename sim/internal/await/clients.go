package await

import (
	"fmt"
	"strings"

	"bellows"
	"bellows/core/client"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/trace"
)

// Clients sees that every client that waits long for a lane to hold a part of a flush names that part (P8).
//
// It keeps a separate account, by messages alone: a part that has left is waited for until the message of its lane that it
// holds it, or its commit, has come.
type Clients struct {
	*trace.Trace
	*coverage.Coverage
	Ledger   *account.Watch
	Route    func() *route.Route // of node 0
	Lossy    *bool               // a message is lost: the job ends for it
	Patience int64               // after which a wait must have been named, in milliseconds
	Era      bellows.Era

	byNode []*flushes
	lanes  []wire.Address // all there have been
}

// flushes are the parts that a client waits for.
type flushes struct {
	Parts[account.PartAt]
	client *client.Client
	node   *nodestate.Node
	route  bellows.RouteVersion                     // the last that came
	until  map[bellows.FlushID]bellows.RouteVersion // the routes of refusals: a flush waits for the newest
}

// waitsForRoute reports whether some of a flush was refused by a route that has not come. Until it comes, the client also
// keeps a part of that flush for which there is room again.
func (f *flushes) waitsForRoute(id bellows.FlushID) bool { return f.until[id] > f.route }

// AddClient adds the client of a node, before its first message.
func (w *Clients) AddClient(n *nodestate.Node, c *client.Client) {
	for len(w.byNode) <= int(n.Number) {
		w.byNode = append(w.byNode, nil)
	}
	w.byNode[n.Number] = &flushes{client: c, node: n, until: map[bellows.FlushID]bellows.RouteVersion{}}
}

// AddLane adds a lane.
func (w *Clients) AddLane(a wire.Address) { w.lanes = append(w.lanes, a) }

// Posted notes parts of flushes that leave, for the first time or again.
func (w *Clients) Posted(e wire.Envelope) {
	m, ok := e.Message.(*wire.Push)
	if !ok {
		return
	}
	kind := HeldAlone
	if w.Ledger.SeveralLanes(m, w.Ledger.History.Owner) {
		kind = Held
	}
	at := account.PartAt{Lane: e.To, Flush: m.Flush}
	if !w.Ledger.Parts[at].AllHeld() {
		w.byNode[e.From.Node].Leaves(at, kind, *w.Clock)
	}
}

// Before notes what a client is about to learn of its flushes.
func (w *Clients) Before(e wire.Envelope) {
	if e.To.Role != wire.Client {
		return
	}
	f := w.byNode[e.To.Node]
	check := func(p Part[account.PartAt]) { w.check(f, p) }
	switch m := e.Message.(type) {
	case *wire.Held:
		at := account.PartAt{Lane: e.From, Flush: m.Flush}
		f.Holds(at, w.Ledger.Rests(at), w.Ledger.Heard(at, m.Pairs), check)
	case *wire.Stale:
		if m.Request == 0 {
			at := account.PartAt{Lane: e.From, Flush: m.Flush}
			f.Refused(at, w.Ledger.Rests(at), *w.Clock, check)
			f.until[m.Flush] = max(f.until[m.Flush], m.Route)
		}
	case *wire.Room:
		if f.waitsForRoute(m.Flush) {
			f.Refused(account.PartAt{Lane: e.From, Flush: m.Flush}, true, *w.Clock, check)
		}
	case *wire.Route:
		if f.route = m.Version; m.Begin != nil { // another controller: no flush waits for its predecessor's routes
			clear(f.until)
		}
	case *wire.Committed:
		if !e.IsOfEra(w.Era) {
			return
		}
		for i := range m.List {
			for _, lane := range w.lanes { // all of it is held
				f.Holds(account.PartAt{Lane: lane, Flush: m.List[i].Flush}, false, *w.Clock, check)
			}
		}
	}
}

// Tick checks all that a client waits for.
func (w *Clients) Tick(n bellows.NodeID) {
	f := w.byNode[n]
	f.ForgetHeld(func(at account.PartAt) bool { return w.Ledger.Parts[at].AllHeld() })
	f.Each(func(p Part[account.PartAt]) { w.check(f, p) })
}

// check sees that a part that is waited for long was named, unless it has left, or belongs to another lane by now. A client that
// has ended the job for a loss names nothing more.
func (w *Clients) check(f *flushes, p Part[account.PartAt]) {
	if waited := *w.Clock - p.Since; waited > w.Patience && !p.Named && !*w.Lossy && f.client.Ended() == nil &&
		f.node.PausedUntil < p.Since && w.Ledger.Stays(p.At, w.Route()) {
		w.Violated("P8: %v has waited for %d ms for %v without a notice", p.At.Flush, waited, p.At.Lane)
	}
}

// Name takes a notice of a client. It reports whether the notice is about a flush.
func (w *Clients) Name(n bellows.NodeID, sentence string) bool {
	if !strings.Contains(sentence, Until) {
		w.Violated("P8: a wait is named without until when: %q", sentence)
	}
	if !strings.HasPrefix(sentence, "flush ") {
		if !strings.Contains(sentence, " at lane ") && !strings.Contains(sentence, " for route ") { // node 0's sentence
			w.Violated("P8: a wait is named without its object: %q", sentence)
		}
		return false
	}
	w.Hit("flush-named")
	w.byNode[n].Name(func(at account.PartAt) bool {
		return strings.HasPrefix(sentence, fmt.Sprintf("%v has waited ", at.Flush)) && strings.Contains(sentence, fmt.Sprintf(" s for %v to hold", at.Lane)) ||
			strings.Contains(sentence, " s for route ") // others may wait for it as well
	})
	return true
}
