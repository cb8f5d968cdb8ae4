package wire

import (
	"slices"

	"bellows"
	"bellows/link/wire/internal/fields"
)

// Query asks a lane what it holds. By taking it the lane promises the term: what a controller of a lower one says is not heard any more,
// so that its answer stays true until the one that asks says something else.
type Query struct {
	Term bellows.Term
	// From is the first record that is wanted behind the answer, as Records up to the last one that the lane has; 0: none are.
	From bellows.CommitNumber
}

const kindQuery uint8 = 88

func (*Query) kind() uint8 { return kindQuery }

func (m *Query) encode(b *Batch) {
	b.pb().Varint(1, uint64(m.Term))
	b.pb().Varint(2, uint64(m.From))
}

func (m *Query) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			m.Term = termOf(&f)
		case 2<<3 | varint:
			m.From = bellows.CommitNumber(f.Num)
		}
	}
	return f.Err
}

// Holding is a lane's answer to Query.
type Holding struct {
	Term    bellows.Term           // that the lane has promised
	Last    bellows.CommitNumber   // the newest record that it has taken
	Tail    bellows.CommitNumber   // the first of those up to Last that it has kept; Last+1: none
	Flushes []HeldFlush            // held and not recorded, each once
	Parts   []Pair                 // the partitions that it owns,
	At      []bellows.CommitNumber // and of each the newest record that has something for it
	Added   []bellows.Control      // who takes part by the records up to Last and did not at the job's beginning
	Gone    []Fence                // who was declared gone
	End     *End                   // what the lane was told of the job's end; nil: it is not over

	pairs   []Pair
	results []Result
	numbers []float64
}

// HeldFlush is what a lane holds of a flush that has no number.
type HeldFlush struct {
	Flush bellows.FlushID
	Clock bellows.Clock
	Held  []Pair   // parts of which are here
	Pairs []Pair   // of the whole flush, over all lanes
	Done  []Result // what it finished, where that came with a part that is here; else none
}

const kindHolding uint8 = 89

func (*Holding) kind() uint8 { return kindHolding }

func (m *Holding) encode(b *Batch) {
	pairs, results := 0, 0
	for i := range m.Flushes {
		pairs += len(m.Flushes[i].Held) + len(m.Flushes[i].Pairs)
		results += len(m.Flushes[i].Done)
	}
	if max(len(m.Flushes), len(m.Parts), len(m.Added), len(m.Gone), pairs, results) > listMax {
		b.tooMany(m)
		return
	}
	b.pb().Varint(1, uint64(m.Term))
	b.pb().Varint(2, uint64(m.Last))
	b.pb().Varint(3, uint64(m.Tail))
	for i := range m.Flushes {
		h := &m.Flushes[i]
		at := b.pb().Open(4)
		b.protoFlush(1, h.Flush)
		b.pb().Zigzag(2, int32(h.Clock))
		b.runs(3, h.Held)
		b.runs(4, h.Pairs)
		b.results(5, h.Done)
		b.pb().Shut(at)
	}
	for i := range m.Parts {
		at := b.pb().Open(5)
		b.protoPair(1, m.Parts[i])
		b.pb().Varint(2, uint64(m.At[i]))
		b.pb().Shut(at)
	}
	for i := range m.Added {
		b.change(6, &m.Added[i])
	}
	for i := range m.Gone {
		at := b.pb().Open(7)
		m.Gone[i].encode(b)
		b.pb().Shut(at)
	}
	if m.End != nil {
		at := b.pb().Open(8)
		m.End.encode(b)
		b.pb().Shut(at)
	}
}

// heldLeast is how many bytes a held flush takes, whose name is whole.
const heldLeast = 8

func (m *Holding) decode(payload []byte) error {
	m.Flushes = slices.Grow(m.Flushes, min(fields.Count(payload, 4<<3|sized), len(payload)/heldLeast))
	parts := fields.Count(payload, 5<<3|sized)
	m.Parts, m.At = slices.Grow(m.Parts, parts), slices.Grow(m.At, parts)
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			m.Term = termOf(&f)
		case 2<<3 | varint:
			m.Last = bellows.CommitNumber(f.Num)
		case 3<<3 | varint:
			m.Tail = bellows.CommitNumber(f.Num)
		case 4<<3 | sized:
			f.Room(len(m.Flushes))
			f.Fail(m.held(f.Data))
		case 5<<3 | sized:
			f.Room(len(m.Parts))
			p, at, err := partAt(f.Data)
			f.Fail(err)
			m.Parts, m.At = append(m.Parts, p), append(m.At, at)
		case 6<<3 | sized:
			f.Room(len(m.Added))
			var c bellows.Control
			if f.Fail(changeOf(f.Data, &c)); c.Kind != bellows.AddLane && c.Kind != bellows.AddClient {
				f.Fail(errNumber)
			}
			m.Added = append(m.Added, c)
		case 7<<3 | sized:
			f.Room(len(m.Gone))
			var gone Fence
			f.Fail(gone.decode(f.Data))
			m.Gone = append(m.Gone, gone)
		case 8<<3 | sized:
			if m.End == nil {
				m.End = new(End)
			}
			f.Fail(m.End.decode(f.Data))
		}
	}
	return f.Err
}

func (m *Holding) held(b []byte) error {
	h := HeldFlush{}
	m.results = slices.Grow(m.results, fields.Count(b, 5<<3|sized))
	results := len(m.results)
	f := fields.Of(b)
	for f.Next() {
		switch f.Key {
		case 1<<3 | sized:
			f.Fail(flushOf(f.Data, &h.Flush))
		case 2<<3 | varint:
			h.Clock = bellows.Clock(f.Sint32())
		case 3<<3 | sized, 3<<3 | varint, 4<<3 | sized, 4<<3 | varint:
			at := len(m.pairs)
			m.pairs = runsOf(&f, m.pairs) // all of a message have one bound
			to := [...]*[]Pair{&h.Held, &h.Pairs}[f.Key>>3-3]
			if *to == nil {
				*to = m.pairs[at:len(m.pairs):len(m.pairs)]
			} else { // another writer's, who has cut the list
				*to = append(*to, m.pairs[at:]...)
			}
		case 5<<3 | sized:
			f.Room(len(m.results))
			u, values, err := numbered(f.Data, &m.numbers)
			f.Fail(err)
			m.results = append(m.results, Result{u, values})
		}
	}
	if h.Flush.Seq == 0 || h.Flush.Incarnation == 0 {
		f.Fail(errNumber)
	}
	h.Done = m.results[results:len(m.results):len(m.results)]
	m.Flushes = append(m.Flushes, h)
	return f.Err
}

func partAt(b []byte) (p Pair, at bellows.CommitNumber, err error) {
	f := fields.Of(b)
	for f.Next() {
		switch f.Key {
		case 1<<3 | sized:
			var failed error
			p, failed = pairOf(f.Data)
			f.Fail(failed)
		case 2<<3 | varint:
			at = bellows.CommitNumber(f.Num)
		}
	}
	return p, at, f.Err
}
