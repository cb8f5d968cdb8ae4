package wire

import (
	"math"

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

func (m *Collect) encode(b *Batch) {
	if m.Whole {
		b.pb().Varint(1, 1)
	}
	b.pb().Varint(2, uint64(m.Slabs))
	b.pb().Varint(3, uint64(m.Term))
}

func (m *Collect) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			m.Whole = f.Num != 0
		case 2<<3 | varint:
			m.Slabs = uint32(min(f.Num, math.MaxUint32))
		case 3<<3 | varint:
			m.Term = termOf(&f)
		}
	}
	return f.Err
}

// sentence is the payload of messages that are one text.
func sentence(payload []byte, to *string) error {
	f := fields.Of(payload)
	for f.Next() {
		if f.Key == 1<<3|sized {
			*to = f.Text()
		}
	}
	return f.Err
}

const kindCollected uint8 = 74

func (*Collected) kind() uint8 { return kindCollected }

func (m *Collected) encode(b *Batch) {
	b.pb().Text(1, reason(m.Reason))
	b.pb().Varint(2, uint64(m.Term))
}

func (m *Collected) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | sized:
			m.Reason = f.Text()
		case 2<<3 | varint:
			m.Term = termOf(&f)
		}
	}
	return f.Err
}

const kindReady uint8 = 75

func (*Ready) kind() uint8 { return kindReady }

func (m *Ready) encode(b *Batch) {
	for i, part := range parts(&m.Fingerprint) {
		b.pb().Varint(protowire.Number(1+i), *part)
	}
}

func (m *Ready) decode(payload []byte) error {
	list := parts(&m.Fingerprint)
	f := fields.Of(payload)
	for f.Next() {
		if n := f.Key >> 3; f.Key&7 == varint && 1 <= n && int(n) <= len(list) {
			*list[n-1] = f.Num
		}
	}
	return f.Err
}

// parts are the hashes of a fingerprint as they are numbered on the wire.
func parts(f *bellows.Fingerprint) [6]*uint64 {
	return [...]*uint64{&f.Tables, &f.Splits, &f.Data, &f.Formats, &f.Kernels, &f.Program}
}

const kindNotice uint8 = 76

func (*Notice) kind() uint8                   { return kindNotice }
func (m *Notice) encode(b *Batch)             { b.pb().Text(1, reason(m.Sentence)) }
func (m *Notice) decode(payload []byte) error { return sentence(payload, &m.Sentence) }

const kindComplaint uint8 = 77

func (*Complaint) kind() uint8 { return kindComplaint }

func (m *Complaint) encode(b *Batch) {
	b.pb().Varint(1, uint64(m.Node))
	b.pb().Text(2, reason(m.Reason))
	if m.Breach {
		b.pb().Varint(3, 1)
	}
}

func (m *Complaint) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			m.Node = bellows.NodeID(f.UpTo(math.MaxUint16))
		case 2<<3 | sized:
			m.Reason = f.Text()
		case 3<<3 | varint:
			m.Breach = f.Num != 0
		}
	}
	return f.Err
}
