package lab

import (
	"time"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/coord"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// Cuts says when cuts are taken, and how long it takes to store them.
type Cuts struct {
	Every   time.Duration // between the end of one and the beginning of the next; 0: only those of the script
	Rate    float64       // bytes a second that a node stores; 0: unlimited
	Latency time.Duration // until what a node has stored, and at last the whole cut, is safe
}

// cuts holds the cuts of the job in all its attempts.
type cuts struct {
	open   map[bellows.CommitNumber]*cut
	last   *cut  // the newest that is safe
	script []int // events of the script that are under way
	due    bool  // one is to be taken at the next tick
	began  time.Duration
	taken  []Taken
}

// Taken is a cut that was taken.
type Taken struct {
	Began, Done time.Duration // virtual; when it was asked for, and when it was safe
}

// cut is one cut, as it is stored.
type cut struct {
	coord.Saved
	live, kept []*rowstore.Image // by number of the partition
}

// storing is a partition of a cut that a node stores.
type storing struct {
	node *node
	to   wire.Address
	said checkpoint.Stored
}

// cutAt returns a cut by its record.
func (w *world) cutAt(commit bellows.CommitNumber) *cut {
	c := w.cuts.open[commit]
	if c == nil {
		n := w.route.Partitions()
		c = &cut{live: make([]*rowstore.Image, n), kept: make([]*rowstore.Image, n)}
		w.cuts.open[commit] = c
	}
	return c
}

// takeCut begins a cut that is due, at a tick of node 0. One that cannot be taken is due again at the next.
func (w *world) takeCut() {
	lead := w.nodes[0].lead
	if !w.cuts.due || !lead.Begun() || lead.Ending() || lead.Cut(&lead.fx) != nil {
		return
	}
	w.cuts.due, w.cuts.began = false, w.elapsed()
	lead.obey()
}

// store takes what a lane gives away for cuts, after each of its steps. The pieces are copied at once; storing them takes its time.
func (n *node) store(l lane, a wire.Address) {
	w := n.w
	for _, news := range l.CutNews() {
		switch {
		case news.Over:
		case news.Unchanged > 0:
			from, to, at := w.cutAt(news.Unchanged), w.cutAt(news.Commit), w.route.Number(news.Ref)
			to.live[at], to.kept[at] = from.live[at], from.kept[at]
		default:
			bytes, err := w.copyPartition(l, news)
			if err != nil {
				w.fail(err)
				return
			}
			s := &storing{n, a, checkpoint.Stored{Commit: news.Commit, Ref: news.Ref, Name: news.Ref.String(), Bytes: uint64(bytes)}}
			now := w.agenda.Time()
			n.stores = max(n.stores, now)
			if w.cfg.Cuts.Rate > 0 {
				n.stores += int64(float64(bytes) * 1e9 / w.cfg.Cuts.Rate)
			}
			w.stirs(1)
			w.agenda.After(n.stores-now+int64(w.cfg.Cuts.Latency), event{what: partStored, storing: s})
		}
	}
}

// copyPartition copies a partition as it was at a cut, and returns its bytes.
func (w *world) copyPartition(l lane, news checkpoint.News) (bytes int, err error) {
	b, err := checkpoint.NewBuilder(&w.common.Tables[news.Ref.Table])
	if err != nil {
		return 0, err
	}
	for p := new(checkpoint.Piece); !p.Last; {
		if err := l.CutPiece(news.Commit, news.Ref, p); err != nil {
			return 0, err
		}
		if err := b.Add(p); err != nil {
			return 0, err
		}
		bytes += 8*len(p.Keys) + 4*len(p.Values)
	}
	live, kept, err := b.Images()
	c, at := w.cutAt(news.Commit), w.route.Number(news.Ref)
	c.live[at], c.kept[at] = &live, kept
	return bytes, err
}

// stored lets a lane know that a partition of a cut is safe.
func (w *world) stored(s *storing) {
	w.stirs(-1)
	if s.node.gone {
		return
	}
	var out wire.Outbox
	out.Send(s.to, s.to, &s.said)
	s.node.post(&out)
	s.node.settle()
}

// cutDone takes a cut that all lanes have stored, or that was given up.
func (w *world) cutDone(d *coord.CutDone) {
	if w.cfg.Cuts.Every > 0 {
		w.agenda.After(int64(w.cfg.Cuts.Every), event{what: cutDue})
	}
	if d.Reason != "" {
		w.endCut(d.Reason)
		return
	}
	w.cutAt(d.Saved.Commit).Saved = d.Saved
	w.stirs(1)
	w.agenda.After(int64(w.cfg.Cuts.Latency), event{what: cutStored, cut: w.cutAt(d.Saved.Commit)})
}

// endCut notes the end of a cut of the script.
func (w *world) endCut(why string) {
	if len(w.cuts.script) > 0 {
		w.happened(w.cuts.script[0], why)
	}
}

// keepCut makes a cut the last one.
func (w *world) keepCut(c *cut) {
	w.stirs(-1)
	lead := w.nodes[0].lead
	if lead.Ending() {
		return
	}
	for commit := range w.cuts.open {
		if commit < c.Commit {
			delete(w.cuts.open, commit)
		}
	}
	w.cuts.last = c
	w.cuts.taken = append(w.cuts.taken, Taken{w.cuts.began, w.elapsed()})
	lead.CutKept(c.Commit, &lead.fx)
	w.endCut("")
	lead.obey()
	w.nodes[0].settle()
}

// restore begins a life with a cut.
func (w *world) restore(c *cut) error {
	for _, n := range w.nodes {
		for i, l := range n.lanes {
			for ref := range w.route.Each() {
				if owner := w.route.Owner(ref).Lane; owner != wire.LaneAt(n.id, i) {
					continue
				}
				at := w.route.Number(ref)
				if c.kept[at] != nil {
					l.LoadKept(ref, c.kept[at])
				}
				if err := l.Load(ref, c.live[at]); err != nil {
					return err
				}
			}
			if err := l.Resume(c.Complete, c.Open); err != nil {
				return err
			}
		}
	}
	return w.nodes[0].lead.Resume(c.State)
}
