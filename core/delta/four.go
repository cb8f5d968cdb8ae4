package delta

import (
	"math/bits"

	"bellows/vec"
)

// blockRows is the number of consecutive rows that mergeFour marks at a time.
const blockRows = 4 << 10

// fourShare is how many rows a partition may have for each row of four lists, to merge them at once: below, most of the
// marks would be empty.
const fourShare = 32

// block has a bit for each of blockRows consecutive rows.
type block [blockRows / 64]uint64

// mark marks the rows of an ascending list from the row first on, which begins the block. It returns
// how many rows are before it.
func (m *block) mark(ids []uint32, first uint32) int {
	i := len(ids)
	for i > 0 && ids[i-1] >= first {
		i--
		r := ids[i] - first
		m[r/64] |= 1 << (r % 64)
	}
	return i
}

// contains reports whether a row of the block is marked.
func (m *block) contains(r uint32) bool { return m[r/64]>>(r%64)&1 != 0 }

// rank returns how many marked rows are before one, given the number before each word.
func (m *block) rank(before *[blockRows / 64]int32, r uint32) int {
	return int(before[r/64]) + bits.OnesCount64(m[r/64]&(1<<(r%64)-1))
}

// count counts the marked rows before each word, and returns the number of all.
func (m *block) count(before *[blockRows / 64]int32) (n int) {
	for i, w := range m {
		before[i] = int32(n)
		n += bits.OnesCount64(w)
	}
	return n
}

// lastBlock returns the first row of the last block in which one of four lists has a row; false: all are empty.
func lastBlock(ids *[4][]uint32) (first uint32, some bool) {
	for _, list := range ids {
		if n := len(list); n > 0 {
			first, some = max(first, list[n-1]), true
		}
	}
	return first &^ (blockRows - 1), some
}

// canMergeFour reports whether four buffers are lists that mergeFour takes.
func canMergeFour(b, o, p, q *Buffer) bool {
	n := 0
	for _, x := range [...]*Buffer{b, o, p, q} {
		if x.whole || x.keys != nil || x.counts || len(x.ids) > 0 && !x.ascends {
			return false
		}
		n += len(x.ids)
	}
	return b.places.hash > 0 && n*fourShare >= b.rows
}

// unionRows returns the number of different rows in four ascending lists.
func unionRows(ids [4][]uint32) (n int) {
	for first, some := lastBlock(&ids); some; first, some = lastBlock(&ids) {
		var all block
		for k := range ids {
			ids[k] = ids[k][:all.mark(ids[k], first)]
		}
		for _, w := range all {
			n += bits.OnesCount64(w)
		}
	}
	return n
}

// mergeFour adds three ascending lists to b, which is one, as MergeThree does: o to b, q to p, and their sum to b.
// It changes p.
//
// It marks the rows of a block in a bit set for each list. Each row's place in the sum is then a count of bits. No step
// depends on a comparison of two lists, which a processor cannot predict. It works from the last block to the
// first, where there is room in b's own memory. Rejected: three merges of two lists each, which copy most rows twice
// (BenchmarkMergeFour).
func mergeFour(b, o, p, q *Buffer) {
	w, n := b.width, len(b.ids)
	all := unionRows([4][]uint32{b.ids, o.ids, p.ids, q.ids})
	b.joined += o.joined + p.joined + q.joined + n + len(o.ids) + len(p.ids) + len(q.ids) - all
	b.ascends = true
	b.reserve(all)
	ids := [4][]uint32{b.ids, o.ids, p.ids, q.ids}
	b.ids = append(b.ids, make([]uint32, all-n)...)
	b.values = append(b.values, make([]float32, (all-n)*w)...)
	to := all // from this row on the sum is complete
	for first, some := lastBlock(&ids); some; first, some = lastBlock(&ids) {
		var marks [4]block
		var from [4]int
		for k := range ids {
			from[k] = marks[k].mark(ids[k], first)
		}
		var left, union block
		for i := range union {
			left[i] = marks[0][i] | marks[1][i]
			union[i] = left[i] | marks[2][i] | marks[3][i]
		}
		var before, beforeLast [blockRows / 64]int32
		to -= union.count(&before)
		marks[3].count(&beforeLast)
		values := b.values[to*w:]
		for i := len(ids[0]) - 1; i >= from[0]; i-- {
			at := union.rank(&before, ids[0][i]-first) * w
			vec.CopyRow(values[at:at+w], b.values[i*w:(i+1)*w])
		}
		for i := from[1]; i < len(ids[1]); i++ {
			r := ids[1][i] - first
			at := union.rank(&before, r) * w
			b.put(values[at:at+w], o.values[i*w:(i+1)*w], marks[0].contains(r))
		}
		for i := from[2]; i < len(ids[2]); i++ {
			r := ids[2][i] - first
			at, d := union.rank(&before, r)*w, p.values[i*w:(i+1)*w]
			if marks[3].contains(r) {
				last := from[3] + marks[3].rank(&beforeLast, r)
				b.add(q.values[last*w:(last+1)*w], d)
			}
			b.put(values[at:at+w], d, left.contains(r))
		}
		for i := from[3]; i < len(ids[3]); i++ {
			if r := ids[3][i] - first; !marks[2].contains(r) {
				at := union.rank(&before, r) * w
				b.put(values[at:at+w], q.values[i*w:(i+1)*w], left.contains(r))
			}
		}
		at := to
		for i, word := range union {
			for ; word != 0; word &= word - 1 {
				b.ids[at] = first + uint32(64*i+bits.TrailingZeros64(word))
				at++
			}
		}
		for k := range ids {
			ids[k] = ids[k][:from[k]]
		}
	}
}

// put adds a delta to a row of the sum, or begins it.
func (b *Buffer) put(to, d []float32, present bool) {
	if present {
		b.add(d, to)
		return
	}
	vec.CopyRow(to, d)
}
