package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"sync"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/rowstore"
	"bellows/port/blob"
)

// A shard is a partition's state as bytes, all numbers little-endian: the state, followed by what the driver last kept,
// if it did. It begins with a header:
//
//	8   "bellowsc"
//	4   version
//	32  identity of the job
//	4   era, 4 table, 4 partition, 8 commit of the cut that it was written for
//	4   CRC-32C of all before
//
// Blocks follow: the image (0 state, 1 kept), the number of rows; for a sparse table their keys, 8 bytes each; their
// values, row after row, and then those of each slot of the rule; and the CRC-32C of all these, continued from the
// previous sum, so that exchanged or missing blocks show. The job's table decides how many bytes a row has, not the
// shard. The last block has image 2^32-1 and no rows. The SHA-256 in the manifest covers the bytes after the header.
//
// Blocks of image 2 have deltas that are gathered for a clock that is not complete. After the number of rows they have
// the clock, the index and the level of the subtree, and the first and the end of the items of a part of a clock (8
// bytes each; else 0). The numbers of the rows follow, 4 bytes each, or keys, and then the values. Consecutive blocks of
// one clock and subtree are one sum. Version 1 has no such blocks.
const (
	shardMagic   = "bellowsc"
	shardVersion = 2
	shardFirst   = 1 // the oldest version that is read
	headerBytes  = 68
	sumBytes     = 28       // of a block of deltas, before its rows
	pieceValues  = 64 << 10 // of a block as Put writes it, where rows are not longer
	blockMost    = 1 << 20  // bytes of a block's rows, unless one row has more
	liveImage    = 0
	keptImage    = 1
	gathered     = 2
	endOfImages  = math.MaxUint32
)

// blocks has the memory of blocks that were written or read, for those that follow.
var blocks = sync.Pool{New: func() any { return new([]byte) }}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stamp is what a shard's header says.
type stamp struct {
	job ID
	At
	ref bellows.PartitionRef
}

// bytes returns the header of a shard in a version of the format.
func (s *stamp) bytes(version uint32) []byte {
	b := make([]byte, 0, headerBytes)
	b = append(b, shardMagic...)
	b = order.AppendUint32(b, version)
	b = append(b, s.job[:]...)
	b = order.AppendUint32(b, uint32(s.Era))
	b = order.AppendUint32(b, uint32(s.ref.Table))
	b = order.AppendUint32(b, uint32(s.ref.Partition))
	b = order.AppendUint64(b, uint64(s.Commit))
	return order.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// Piece is some rows of a partition, as lanes give them away.
type Piece = checkpoint.Piece

// Shard is one that is being written, piece by piece. One goroutine at a time may use it.
type Shard struct {
	entry Entry
	mold  *mold
	to    blob.Writer
	whole hash.Hash
	b     []byte  // the block that is written
	of    *[]byte // blocks has given it; nil: it has it again
	rows  [2]int  // so far, by image
	came  [2]bool
	sums  bool   // deltas that are gathered have come
	sum   uint32 // of the blocks so far
	err   error  // the first
}

// Create begins the shard of a partition for a cut. It is of no use before the Entry that its Close returns is in the
// cut's manifest. Another process than the one that publishes may write it, and several may be written at a time.
func (a *Archive) Create(ctx context.Context, at At, ref bellows.PartitionRef) (*Shard, error) {
	if int(ref.Table) >= len(a.cuts) || int(ref.Partition) >= a.cuts[ref.Table].Len() {
		return nil, bellows.Errorf(bellows.Bug, "write checkpoint", a.store.URI(at.name()), "the job has no %v", ref)
	}
	e := Entry{Table: ref.Table, Partition: ref.Partition, At: at}
	e.Name = e.name()
	if err := allowed(ctx, a.guard.Write); err != nil {
		return nil, err
	}
	to, err := a.store.Create(ctx, e.Name)
	if err != nil {
		return nil, err
	}
	s := &Shard{entry: e, mold: a.moldOf(ref), to: to, whole: sha256.New(), of: blocks.Get().(*[]byte)}
	s.b = *s.of
	head := e.stamp(a.id)
	s.write(head.bytes(shardVersion))
	s.whole.Reset()
	return s, nil
}

// fail keeps the first error.
func (s *Shard) fail(err error) error {
	if s.err == nil {
		s.err = err
	}
	return s.err
}

// letGo gives the block's memory back.
func (s *Shard) letGo() {
	if s.of == nil {
		return
	}
	*s.of = s.b
	blocks.Put(s.of)
	s.b, s.of = nil, nil
}

// write hands bytes to the store and to the digest.
func (s *Shard) write(b []byte) {
	if s.err != nil {
		return
	}
	n, err := s.to.Write(b)
	if err == nil && n < len(b) {
		err = blob.Fault("write", s.entry.Name, io.ErrShortWrite)
	}
	if err != nil {
		s.err = err
		return
	}
	s.whole.Write(b)
	s.entry.Bytes += int64(len(b))
}

// Add writes the next piece.
func (s *Shard) Add(p *Piece) error {
	if p.Gathered {
		return s.addSum(p)
	}
	i := bit(p.Kept)
	if p.First != s.rows[i] || len(p.Values) != p.Count*s.mold.row || s.mold.sparse && len(p.Keys) != p.Count ||
		!s.mold.sparse && len(p.Keys) > 0 ||
		i == liveImage && s.came[keptImage] || s.sums || s.mold.bytes(p.Count) > s.mold.most() {
		return s.fail(bellows.Errorf(bellows.Bug, "write checkpoint", s.entry.Name,
			"a piece of %d rows at row %d, with %d keys and %d values, does not follow %d rows", p.Count, p.First,
			len(p.Keys), len(p.Values), s.rows[i]))
	}
	s.rows[i] += p.Count
	s.came[i] = true
	s.block(uint32(i), p)
	return s.err
}

// addSum writes a piece of deltas that are gathered.
func (s *Shard) addSum(p *Piece) error {
	named := len(p.Rows)
	if s.mold.sparse {
		named = len(p.Keys)
	}
	width := s.mold.widths[0]
	if p.Count < 1 || named != p.Count || len(p.Values) != p.Count*width || !s.came[liveImage] ||
		s.mold.sumBytes(p.Count) > s.mold.most() {
		return s.fail(bellows.Errorf(bellows.Bug, "write checkpoint", s.entry.Name,
			"a piece of %d rows of deltas, with %d rows, %d keys and %d values", p.Count, len(p.Rows), len(p.Keys),
			len(p.Values)))
	}
	s.sums = true
	b := order.AppendUint32(s.b[:0], gathered)
	b = order.AppendUint32(b, uint32(p.Count))
	b = order.AppendUint32(b, uint32(p.Clock))
	b = order.AppendUint32(b, p.Of.Index)
	b = order.AppendUint32(b, uint32(p.Of.Level))
	b = order.AppendUint64(b, uint64(p.Of.Items.Begin))
	b = order.AppendUint64(b, uint64(p.Of.Items.End))
	for _, r := range p.Rows {
		b = order.AppendUint32(b, r)
	}
	for _, k := range p.Keys {
		b = order.AppendUint64(b, uint64(k))
	}
	for _, v := range p.Values {
		b = order.AppendUint32(b, math.Float32bits(v))
	}
	s.b = b
	s.seal()
	return s.err
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// block writes one.
func (s *Shard) block(image uint32, p *Piece) {
	b := order.AppendUint32(s.b[:0], image)
	b = order.AppendUint32(b, uint32(p.Count))
	for _, k := range p.Keys {
		b = order.AppendUint64(b, uint64(k))
	}
	at := len(b)
	if need := at + 4*len(p.Values) + 4; cap(b) < need {
		b = append(make([]byte, 0, need), b...)
	}
	b = b[:at+4*len(p.Values)]
	to := b[at:]
	for i, v := range p.Values {
		order.PutUint32(to[4*i:], math.Float32bits(v))
	}
	s.b = b
	s.seal()
}

// seal writes the block in the buffer, with its checksum.
func (s *Shard) seal() {
	s.sum = crc32.Update(s.sum, castagnoli, s.b)
	s.b = order.AppendUint32(s.b, s.sum)
	s.write(s.b)
}

// again writes a block as another shard has it.
func (s *Shard) again(image uint32, rows int, b []byte) error {
	if image == gathered {
		s.sums = true
	} else {
		s.rows[image] += rows
		s.came[image] = true
	}
	s.b = order.AppendUint32(order.AppendUint32(s.b[:0], image), uint32(rows))
	s.b = append(s.b, b...)
	s.seal()
	return s.err
}

// Close publishes the shard, and says what the manifest is to have of it. After an error, here or before, nothing of it
// is there, or a shard to which no cut refers.
func (s *Shard) Close() (Entry, error) {
	s.block(endOfImages, &Piece{})
	if rows, fixed := s.mold.fixed(); s.err == nil &&
		(!s.came[liveImage] || fixed && (s.rows[liveImage] != rows || s.came[keptImage] && s.rows[keptImage] != rows)) {
		_ = s.fail(bellows.Errorf(bellows.Bug, "write checkpoint", s.entry.Name, "it has %d rows, and %d as kept",
			s.rows[liveImage], s.rows[keptImage]))
	}
	if s.err == nil {
		s.err = s.to.Publish()
	}
	if err := s.to.Close(); err != nil {
		_ = s.fail(err)
	}
	s.letGo()
	s.entry.Kept = s.came[keptImage]
	s.entry.SHA256 = hex.EncodeToString(s.whole.Sum(nil))
	return s.entry, s.err
}

// GiveUp ends a shard that is not to be.
func (s *Shard) GiveUp() {
	_ = s.fail(errGivenUp)
	_ = s.to.Close() // no reader sees it
	s.letGo()
}

var errGivenUp = errors.New("it was given up")

// put writes an image, in pieces.
func (s *Shard) put(im *rowstore.Image, kept bool) error {
	rows := len(im.Keys)
	if n, fixed := s.mold.fixed(); fixed {
		rows = n
	}
	for i, w := range s.mold.widths {
		n := len(im.Values)
		if i > 0 && i <= len(im.Slots) {
			n = len(im.Slots[i-1])
		}
		if len(im.Slots) != len(s.mold.widths)-1 || n != rows*w {
			return s.fail(bellows.Errorf(bellows.Bug, "write checkpoint", s.entry.Name,
				"%d rows have %d values in array %d of %d", rows, n, i, len(im.Slots)+1))
		}
	}
	var p Piece
	var values []float32
	for step, first := max(1, pieceValues/s.mold.row), 0; first == 0 || first < rows; first += step {
		p = s.mold.piece(im, kept, first, min(step, rows-first), values)
		if len(s.mold.widths) > 1 {
			values = p.Values
		}
		if err := s.Add(&p); err != nil {
			return err
		}
	}
	return nil
}

// putSums writes deltas that are gathered, in pieces.
func (s *Shard) putSums(list []rowstore.Gathered) error {
	width := s.mold.widths[0]
	step := max(1, pieceValues/width)
	for i := range list {
		g := &list[i]
		rows := len(g.Values) / width
		for first := 0; first < rows; first += step {
			end := min(first+step, rows)
			p := Piece{Gathered: true, Clock: g.Clock, Of: g.Of, First: first, Count: end - first,
				Values: g.Values[first*width : end*width]}
			if s.mold.sparse {
				p.Keys = g.Keys[first:end]
			} else {
				p.Rows = g.Rows[first:end]
			}
			if err := s.Add(&p); err != nil {
				return err
			}
		}
	}
	return nil
}

// piece returns a number of rows of an image: in its own memory if rows have no slots, else in memory that is used
// again.
func (s *mold) piece(im *rowstore.Image, kept bool, first, rows int, values []float32) Piece {
	p := Piece{Kept: kept, First: first, Count: rows, Values: values[:0]}
	if s.sparse {
		p.Keys = im.Keys[first : first+rows]
	}
	if len(s.widths) == 1 {
		p.Values = im.Values[first*s.row : (first+rows)*s.row : (first+rows)*s.row]
		return p
	}
	for i, w := range s.widths {
		from := im.Values
		if i > 0 {
			from = im.Slots[i-1]
		}
		p.Values = append(p.Values, from[first*w:(first+rows)*w]...)
	}
	return p
}

// shardReader goes through a shard, from its beginning. Errors say at which byte.
type shardReader struct {
	from io.Reader
	at   int64
	rest int64 // bytes that are to follow
	sum  uint32
	b    []byte

	version uint32
}

func damaged(at int64, format string, args ...any) error {
	return fmt.Errorf("it is damaged at byte %d: %s", at, fmt.Sprintf(format, args...))
}

// take reads so many bytes behind those that the reader's buffer keeps.
func (r *shardReader) take(keep, n int) error {
	if int64(n) > r.rest {
		return damaged(r.at, "it is cut short")
	}
	if cap(r.b) < keep+n {
		r.b = append(make([]byte, 0, keep+n), r.b[:keep]...)
	}
	r.b = r.b[:keep+n]
	if _, err := io.ReadFull(r.from, r.b[keep:]); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return damaged(r.at, "it is cut short")
		}
		return err
	}
	r.at, r.rest = r.at+int64(n), r.rest-int64(n)
	return nil
}

// header reads the header, and holds it against what it is to be.
func (r *shardReader) header(want *stamp) error {
	if err := r.take(0, headerBytes); err != nil {
		return err
	}
	version := order.Uint32(r.b[8:])
	known := version >= shardFirst && version <= shardVersion
	if known && string(r.b) == string(want.bytes(version)) {
		r.version = version
		return nil
	}
	if string(r.b[:8]) == shardMagic && !known {
		return fmt.Errorf("its format is version %d, and this program reads %d to %d", version, shardFirst,
			shardVersion)
	}
	return damaged(0, "its header is not that of %v at record %d of era %d of this job", want.ref, want.Commit,
		want.Era)
}

// read goes through the blocks of a shard whose header was read, and passes each to take, which may refuse it. It
// reports whether there are blocks of kept state. The argument of take is valid until it returns.
func (r *shardReader) read(s *mold, take func(image uint32, rows int, b []byte) error) (kept bool, err error) {
	last, any := uint32(liveImage), false
	for {
		from := r.at
		if err := r.take(0, 8); err != nil {
			return false, err
		}
		image, rows := order.Uint32(r.b), int(order.Uint32(r.b[4:]))
		n := s.bytes(rows)
		if image == gathered && r.version > 1 {
			n = s.sumBytes(rows)
		}
		newest := uint32(keptImage)
		if r.version > 1 {
			newest = gathered
		}
		if n > s.most() || image == endOfImages && rows > 0 || image > newest && image != endOfImages ||
			image < last || !any && image != liveImage {
			return false, damaged(from, "a block of %d rows of image %d, of at most %d bytes, follows one of image %d",
				rows, image, s.most(), last)
		}
		if err := r.take(8, int(n)+4); err != nil {
			return false, err
		}
		end := len(r.b) - 4
		if r.sum = crc32.Update(r.sum, castagnoli, r.b[:end]); order.Uint32(r.b[end:]) != r.sum {
			return false, damaged(from, "a block does not have its checksum")
		}
		if image == endOfImages {
			if r.rest > 0 {
				return false, damaged(r.at, "%d bytes follow its end", r.rest)
			}
			return kept, nil
		}
		last, any, kept = image, true, kept || image == keptImage
		if err := take(image, rows, r.b[8:end]); err != nil {
			return false, damaged(from, "%v", err)
		}
	}
}
