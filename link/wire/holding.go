package wire

import (
	"bellows"
	"bellows/core/audit"
	"bellows/link/wire/internal/fields"
)

// Query asks a lane what it holds. By taking it the lane promises the term: what a controller of a lower one says is not heard any more,
// so that its answer stays true until the one that asks says something else.
type Query struct {
	Term bellows.Term
	// From is the first record to send after the answer, as Records up to the lane's last one; 0: send none.
	From bellows.CommitNumber
}

const kindQuery uint8 = 88

func (*Query) kind() uint8 { return kindQuery }

func (m *Query) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Term)
	fields.Num(c, 2, &m.From)
	return nil
}

// Holding is a lane's answer to Query: the state of this lane that another controller needs, in one message, as of one
// moment. The lane has promised the term, so no earlier controller can change that state afterwards. Messages of
// clients still arrive and are reported as they do. The flushes are those without a number: the tail has everything
// about recorded ones (Query.From).
type Holding struct {
	Term    bellows.Term         // that the lane has promised
	Last    bellows.CommitNumber // the newest record that it has taken
	Tail    bellows.CommitNumber // the first of those up to Last that it has kept; Last+1: none
	Flushes []HeldFlush          // held and not recorded, each once
	Owned   []Owned              // partitions
	Added   []bellows.Control    // members by the records up to Last, present or past, that joined after the job's beginning
	Gone    []Fence              // nodes declared lost
	Adopted []bellows.Control    // the removals of members whose counts this lane has taken over
	End     *End                 // the end of the job as the lane received it; nil: it is not over

	pairs   []Pair
	results []Result
	sent    []audit.Sent
	numbers []float64
}

// Owned is a partition that a lane owns.
type Owned struct {
	Pair
	Newest bellows.CommitNumber // of the records that have something for it
}

// HeldFlush is what a lane holds of a flush that has no number.
type HeldFlush struct {
	Flush bellows.FlushID
	Clock bellows.Clock
	Held  []Pair       // pairs with parts on this lane
	Pairs []Pair       // of the whole flush, over all lanes
	Done  []Result     // what it finished, where that came with a part that is here; else none
	Sent  []audit.Sent // what it has of each table, where Done is here
}

const kindHolding uint8 = 89

func (*Holding) kind() uint8 { return kindHolding }

func (m *Holding) fields(c *fields.Codec) error {
	c.Fail(m.tooMany())
	fields.Num(c, 1, &m.Term)
	fields.Num(c, 2, &m.Last)
	fields.Num(c, 3, &m.Tail)
	fields.List(c, 4, &m.Flushes, func(h *HeldFlush) error {
		flushID(c, 1, &h.Flush)
		fields.Zigzag(c, 2, &h.Clock)
		runs(c, 3, &h.Held, &m.pairs)
		runs(c, 4, &h.Pairs, &m.pairs)
		results(c, 5, &h.Done, &m.results, &m.numbers)
		sent(c, 6, &h.Sent, &m.sent)
		if h.Flush.Seq == 0 || h.Flush.Incarnation == 0 {
			return errNumber
		}
		return nil
	})
	fields.List(c, 5, &m.Owned, func(o *Owned) error {
		c.Message(1, true, func() error { return o.Pair.fields(c) })
		fields.Num(c, 2, &o.Newest)
		return nil
	})
	fields.List(c, 6, &m.Added, func(x *bellows.Control) error {
		if err := controlFields(c, x); x.Kind == bellows.AddLane || x.Kind == bellows.AddClient {
			return err
		}
		return errNumber
	})
	fields.List(c, 7, &m.Gone, func(g *Fence) error { return g.fields(c) })
	fields.Optional(c, 8, &m.End, func(e *End) error { return e.fields(c) })
	removals(c, 9, &m.Adopted)
	return nil
}

// tooMany refuses lists that have together more elements than the receiver takes.
func (m *Holding) tooMany() error {
	pairs, results, sent := 0, 0, 0
	for i := range m.Flushes {
		pairs += len(m.Flushes[i].Held) + len(m.Flushes[i].Pairs)
		results += len(m.Flushes[i].Done)
		sent += len(m.Flushes[i].Sent)
	}
	if max(pairs, results, sent) > listMax {
		return errMany
	}
	return nil
}
