package wire

import (
	"cmp"
	"sync"

	"bellows"
	"bellows/core/audit"
	"bellows/link/wire/internal/fields"
	"bellows/link/wire/internal/memory"
	"bellows/link/wire/internal/raw"
)

// Handoff tells the lane that owns a partition to copy it to another lane, the next owner; or to abandon that. It is
// ordered by its number, and replaces the lane's earlier handoff of the partition.
type Handoff struct {
	Term   bellows.Term
	Number uint64         // of the move, from 1, by which the lane answers; 0: all moves that have no record are given up
	Pair   Pair           // as the lane owns it
	Node   bellows.NodeID // of the next owner
	Lane   uint16         // is to own it
	Urgent bool           // it need not stand back behind other work
	Cancel bool           // the move of that number is given up
}

// To returns the lane that becomes the owner of the partition.
func (m *Handoff) NextOwner() Address { return LaneAt(m.Node, int(m.Lane)) }

// Prepared says how far the copy of a move is: the controller may record the move when it is Whole, since nothing is out then that could keep the partition. With a
// reason the lane has given it up.
type Prepared struct {
	Term   bellows.Term // as in the Handoff
	Number uint64       // as in the Handoff
	Pair   Pair
	Copied uint64 // bytes
	Of     uint64 // about how many there are
	Whole  bool
	Reason string
}

// pieceKinds is how many kinds of pieces there are: package handoff names them.
const pieceKinds = 9

// Piece is one of the copy of a partition, from the lane that owns it to the one that is to own it. Those of a copy are taken in their order, which is that in
// which the owner has done the same: so the copy has the same bits.
type Piece struct {
	Copy   uint64 // the sender's number of the copy, from 1
	Number uint64 // of the piece in the copy, from 1; the offer is 0
	Pair   Pair   // as its sender owns it
	Kind   uint8  // as package handoff names them

	Route   bellows.RouteVersion // an offer's: by which the sender owns it
	Waits   bool                 // of a chunk
	Clock   bellows.Clock        // of a chunk, or up to which
	Subtree Subtree              // of a chunk
	First   uint32               // the first of the rows, or of the image's; of a chunk in several pieces how many of its rows came before
	Count   uint32               // how many rows; of a chunk in several pieces how many there are in all
	Keys    []bellows.Key        // of rows of a sparse table, ascending in an image only; else nil
	Rows    []uint32             // of a chunk; nil: all, in order
	Values  []float32            // of rows: all their values, then, slot by slot of the rule, theirs

	Commit bellows.CommitNumber // the last's: the record that gives the partition away
	Newest bellows.CommitNumber // the last's: of the records that have something for it
	Ended  bellows.CommitNumber // the last's: up to which clients have been shown the partition, of those that are no clock's
	Sum    audit.Sum            // the last's: over bits of the state

	payload []byte // what its lists are views of
}

// Hold allocates lists that the message owns, in memory that Free gives back: keys, rows (negative: no list) and
// values.
func (m *Piece) Hold(keys, rows, values int) {
	m.payload = memory.Get(8*max(keys, 0) + 4*max(rows, 0) + 4*values)
	at := m.payload
	m.Keys, m.Rows = memory.Front[bellows.Key](&at, keys), memory.Front[uint32](&at, rows)
	if values > 0 {
		m.Values = memory.Front[float32](&at, values)
	}
}

// Bytes estimates the memory of the piece.
func (m *Piece) Bytes() int { return 8*len(m.Keys) + 4*len(m.Rows) + 4*len(m.Values) }

const kindPiece uint8 = 16

func (*Piece) kind() uint8 { return kindPiece }

func (m *Piece) encode(b *Batch) {
	b.u64(m.Copy)
	b.u64(m.Number)
	b.pair(m.Pair)
	b.u8(uint8(m.Kind))
	b.flag(m.Waits)
	b.zeros(2)
	b.subtree(m.Subtree)
	b.u32(uint32(m.Clock))
	b.u32(uint32(m.Route))
	b.u32(m.First)
	b.u32(m.Count)
	b.u64(uint64(m.Commit))
	b.u64(uint64(m.Newest))
	b.u64(uint64(m.Ended))
	b.u64(uint64(m.Sum))
	b.idCount(m.Rows, m.Keys)
	b.count(len(m.Values))
	b.items(m.Subtree)
	b.ids(m.Rows, m.Keys)
	array(b, m.Values)
}

func (m *Piece) decode(payload []byte) error {
	r := readerOf(payload)
	*m = Piece{Copy: r.U64(), Number: r.U64(), Pair: r.pair(), Kind: r.U8(), Waits: r.Flag(), payload: payload}
	if m.Kind >= pieceKinds {
		r.Fail(errNumber)
	}
	r.Reserved(2)
	at, part := r.subtree()
	m.Clock, m.Route = bellows.Clock(r.U32()), bellows.RouteVersion(r.U32())
	m.First, m.Count = r.U32(), r.U32()
	m.Commit, m.Newest, m.Ended = bellows.CommitNumber(r.U64()), bellows.CommitNumber(r.U64()), bellows.CommitNumber(r.U64())
	m.Sum = audit.Sum(r.U64())
	ids, values := r.U32(), r.U32()
	m.Subtree = r.items(at, part)
	m.Rows, m.Keys = r.IDs(ids)
	m.Values = raw.Words[float32](&r.Reader, values)
	return cmp.Or(r.Err, r.End())
}

func (m *Piece) recycle() *sync.Pool {
	memory.Put(m.payload)
	*m = Piece{}
	return &pools[kindPiece]
}

// Taken reports how far a copy has come at the next owner: all pieces up to one are part of it. The offer is taken by
// 0. Refused ends the copy.
type Taken struct {
	Copy    uint64
	Number  uint64
	Pair    Pair
	Refused bool
}

const (
	kindTaken uint8 = 17
	takenSize       = 16 + pairSize + 4
)

func (*Taken) kind() uint8 { return kindTaken }

func (m *Taken) encode(b *Batch) {
	b.u64(m.Copy)
	b.u64(m.Number)
	b.pair(m.Pair)
	b.flag(m.Refused)
	b.zeros(3)
}

func (m *Taken) decode(payload []byte) error {
	r := readerOf(payload)
	*m = Taken{Copy: r.U64(), Number: r.U64(), Pair: r.pair(), Refused: r.Flag()}
	r.Reserved(3)
	return r.End()
}

const kindHandoff uint8 = 96

func (*Handoff) kind() uint8 { return kindHandoff }

func (m *Handoff) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Term)
	fields.Num(c, 2, &m.Number)
	c.Message(3, true, func() error { return m.Pair.fields(c) })
	fields.Num(c, 4, &m.Node)
	fields.Num(c, 5, &m.Lane)
	c.Flag(6, &m.Urgent)
	c.Flag(7, &m.Cancel)
	return nil
}

const kindPrepared uint8 = 97

func (*Prepared) kind() uint8 { return kindPrepared }

func (m *Prepared) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Term)
	fields.Num(c, 2, &m.Number)
	c.Message(3, true, func() error { return m.Pair.fields(c) })
	fields.Num(c, 4, &m.Copied)
	fields.Num(c, 5, &m.Of)
	c.Flag(6, &m.Whole)
	c.Text(7, &m.Reason)
	return nil
}
