package wire

import (
	"cmp"
	"slices"

	"bellows/core/pending"
)

const (
	waitSize    = 32
	standingMax = 8 + pending.Most*waitSize
)

// A question and its answer have one form: the lane fills in what each wait depends on. An answer follows everything
// that the lane has answered before. So a client that learns that its request is unknown knows that it was lost, not
// overtaken.

const kindInquiry uint8 = 14

func (*Inquiry) kind() uint8                   { return kindInquiry }
func (m *Inquiry) encode(b *Batch)             { b.waits(m.Incarnation, m.List) }
func (m *Inquiry) decode(payload []byte) error { return decodeWaits(&m.Incarnation, &m.List, payload) }

const kindStanding uint8 = 15

func (*Standing) kind() uint8                   { return kindStanding }
func (m *Standing) encode(b *Batch)             { b.waits(m.Incarnation, m.List) }
func (m *Standing) decode(payload []byte) error { return decodeWaits(&m.Incarnation, &m.List, payload) }

func (b *Batch) waits(incarnation uint32, list []pending.Wait) {
	b.count(len(list))
	b.u32(incarnation)
	for _, w := range list {
		b.u8(uint8(w.Of))
		b.u8(uint8(w.Behind))
		b.zeros(2)
		b.u32(w.Who)
		b.u64(w.Number)
		b.pair(Pair{w.Ref, w.Generation})
		b.zeros(4)
	}
}

func decodeWaits(incarnation *uint32, list *[]pending.Wait, payload []byte) error {
	r := readerOf(payload)
	n := r.U32()
	*incarnation = r.U32()
	waits := readerOf(r.Take(uint64(n) * waitSize))
	if r.Err != nil {
		return r.Err
	}
	*list = slices.Grow((*list)[:0], int(n))
	for range n {
		w := pending.Wait{Of: pending.Of(waits.U8()), Behind: pending.Behind(waits.U8())}
		if w.Of > pending.Clocks || w.Behind > pending.Silence {
			waits.Fail(errWait)
		}
		waits.Reserved(2)
		w.Who, w.Number = waits.U32(), waits.U64()
		p := waits.pair()
		w.Ref, w.Generation = p.Ref, p.Generation
		waits.Reserved(4)
		*list = append(*list, w)
	}
	return cmp.Or(waits.Err, r.End())
}
