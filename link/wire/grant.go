package wire

import (
	"sync"

	"bellows"
	"bellows/link/wire/internal/memory"
	"bellows/link/wire/internal/raw"
)

const (
	acquireSize     = 8 + pairSize + 4 + needSize + 8
	unsubscribeSize = pairSize + 4
)

const kindAcquire uint8 = 3

func (*Acquire) kind() uint8 { return kindAcquire }

func (m *Acquire) encode(b *Batch) {
	b.u64(m.Request)
	b.pair(m.Pair)
	b.mode(m.Mode)
	b.need(m.Need, m.Route)
	b.u64(uint64(m.Held))
}

func (m *Acquire) decode(payload []byte) error {
	r := readerOf(payload)
	*m = Acquire{Request: r.U64(), Pair: r.pair(), Mode: r.mode()}
	m.Need, m.Route = r.need()
	m.Held = bellows.CommitNumber(r.U64())
	return r.End()
}

func (m *Acquire) recycle() *sync.Pool {
	*m = Acquire{}
	return &pools[kindAcquire]
}

const kindGranted uint8 = 4

func (*Granted) kind() uint8 { return kindGranted }

func (m *Granted) encode(b *Batch) {
	b.u64(m.Request)
	b.leased(m.Pair, m.Columns)
	b.mode(m.Mode)
	b.u64(uint64(m.Commit))
	b.u32(uint32(m.Complete))
	b.u64(uint64(m.Revision))
	b.flag(m.Unchanged)
	b.zeros(3)
	b.count(m.Columns.Sending(len(m.Values)))
	b.rows(m.Columns, m.Values)
}

func (m *Granted) decode(payload []byte) error {
	r := readerOf(payload)
	*m = Granted{Request: r.U64(), payload: payload}
	m.Pair, m.Columns = r.leased()
	m.Mode, m.Commit, m.Complete = r.mode(), bellows.CommitNumber(r.U64()), bellows.Clock(r.U32())
	m.Revision, m.Unchanged = bellows.CommitNumber(r.U64()), r.Flag()
	r.Reserved(3)
	if n := r.U32(); m.Columns.Padding == 0 {
		m.Values = raw.Words[float32](&r.Reader, n)
	} else if rows := raw.Unpack(&r.Reader, m.Columns, n, messageMax); rows != nil {
		m.Values, m.payload = memory.Words[float32](rows), rows
		memory.Put(payload)
	}
	return r.End()
}

func (m *Granted) recycle() *sync.Pool {
	memory.Put(m.payload)
	*m = Granted{}
	return &pools[kindGranted]
}

const kindRelease uint8 = 5

func (*Release) kind() uint8                   { return kindRelease }
func (m *Release) encode(b *Batch)             { b.pair(m.Pair) }
func (m *Release) decode(payload []byte) error { return decodePair(&m.Pair, payload) }

func (m *Release) recycle() *sync.Pool {
	*m = Release{}
	return &pools[kindRelease]
}

const kindUnsubscribe uint8 = 13

func (*Unsubscribe) kind() uint8 { return kindUnsubscribe }

func (m *Unsubscribe) encode(b *Batch) {
	b.pair(m.Pair)
	b.u32(m.Incarnation)
}

func (m *Unsubscribe) decode(payload []byte) error {
	r := readerOf(payload)
	m.Pair, m.Incarnation = r.pair(), r.U32()
	return r.End()
}

func decodePair(p *Pair, payload []byte) error {
	r := readerOf(payload)
	*p = r.pair()
	return r.End()
}
