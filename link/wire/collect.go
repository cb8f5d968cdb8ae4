package wire

import (
	"bellows"
	"bellows/link/wire/internal/fields"
	"bellows/link/wire/internal/raw"

	"google.golang.org/protobuf/encoding/protowire"
)

const kindSlab uint8 = 12

func (*Slab) kind() uint8 { return kindSlab }

func (m *Slab) encode(b *Batch) {
	b.ref(m.Ref)
	b.flag(m.Kept)
	b.zeros(1)
	b.u16(m.Slot)
	b.u32(uint32(m.Term))
	b.zeros(4)
	if m.Keys != nil {
		b.idCount(nil, m.Keys)
		b.ids(nil, m.Keys)
		return
	}
	b.count(len(m.Values))
	array(b, m.Values)
}

func (m *Slab) decode(payload []byte) error {
	r := readerOf(payload)
	*m = Slab{Ref: r.ref(), Kept: r.Flag()}
	r.Reserved(1)
	m.Slot = r.U16()
	m.Term = bellows.Term(r.U32())
	r.Reserved(4)
	n := r.U32()
	if raw.IsKeys(n) {
		_, m.Keys = r.IDs(n)
		raw.Ascending(&r.Reader, m.Keys)
	} else {
		m.Values = raw.Words[float32](&r.Reader, n)
	}
	return r.End()
}

const kindCollect uint8 = 73

func (*Collect) kind() uint8 { return kindCollect }

func (m *Collect) fields(c *fields.Codec) error {
	c.Flag(1, &m.Whole)
	fields.Num(c, 2, &m.Slabs)
	fields.Num(c, 3, &m.Term)
	return nil
}

const kindCollected uint8 = 74

func (*Collected) kind() uint8 { return kindCollected }

func (m *Collected) fields(c *fields.Codec) error {
	c.Text(1, &m.Reason)
	fields.Num(c, 2, &m.Term)
	return nil
}

const kindReady uint8 = 75

func (*Ready) kind() uint8 { return kindReady }

func (m *Ready) fields(c *fields.Codec) error {
	for i, part := range parts(&m.Fingerprint) {
		fields.Num(c, protowire.Number(1+i), part)
	}
	return nil
}

// parts returns the hashes of a fingerprint as they are numbered on the wire.
func parts(f *bellows.Fingerprint) [6]*uint64 {
	return [...]*uint64{&f.Tables, &f.Splits, &f.Data, &f.Formats, &f.Kernels, &f.Program}
}

const kindNotice uint8 = 76

func (*Notice) kind() uint8 { return kindNotice }

func (m *Notice) fields(c *fields.Codec) error {
	c.Text(1, &m.Sentence)
	return nil
}

const kindComplaint uint8 = 77

func (*Complaint) kind() uint8 { return kindComplaint }

func (m *Complaint) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Node)
	c.Text(2, &m.Reason)
	c.Flag(3, &m.Breach)
	return nil
}
