package lines

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// The numbers of hash bits of Vowpal Wabbit features, as its -b.
const (
	HashBits     = 18 // the default
	HashBitsMost = 27
)

// VW parses lines of Vowpal Wabbit: "[label [importance]] ['tag]|namespace[:weight] name[:value] ... |namespace ...". A
// name without a value has the value 1. The importance is the weight of the row; 0 leaves the row out. If rows need no
// label, as for prediction, the importance is ignored.
//
// A feature is the lower Bits bits of the hash of its name, as with Vowpal Wabbit's default, --hash strings:
// MurmurHash3 (x86, 32 bits) of the name's bytes. Its seed is the hash of the namespace, whose seed is 0. A name or
// namespace of decimal digits alone is that number plus its seed. The namespace without a name is 0. There is no
// constant feature.
//
// With Pairs, as with Vowpal Wabbit's -q, each feature of a namespace that begins with the first letter makes one with
// each feature of a namespace that begins with the second. Its index is that of the first times 16777619, exclusive-or
// that of the second; its value is the product of the two. A letter paired with itself combines each two features once,
// and each feature with itself.
//
// With Grams, as with Vowpal Wabbit's --ngram 2, each two adjacent features among those of namespaces that begin with
// the same letter make one before that, of value 1. Its index is that of the first times 27942141, plus that of the
// second. Features of value 0 are skipped. Values of names that share a feature are added up, and sums of 0 are left
// out.
type VW struct {
	Bits       int
	Ignore     [][]byte  // namespaces to leave out
	Unlabelled bool      // rows need no label
	Numerals   *Numerals // spellings of labels; nil: not noted
	Grams      bool
	Pairs      []string // pairs of initial letters of namespaces; a blank stands for the namespace without a name
	Shifts
	row         []uint64 // features: the index above the bits of the value
	spaces      []space  // of the row, with Pairs or Grams
	left, right []uint64
	scale       float64 // the weight of the namespace; used with origins
}

// A space is a namespace of a row: the features up to the next space.
type space struct {
	letter byte
	from   int
}

// pairsMost bounds the number of features that the pairs of a row make.
const pairsMost = 1 << 22

// pairPrime mixes the first feature of a pair, as Vowpal Wabbit does (FNV).
const pairPrime = 16777619

// gramPrime mixes the first of two adjacent features, as Vowpal Wabbit does.
const gramPrime = 27942141

// grams adds the features of adjacent pairs. They belong to the namespaces of their two features.
func (l *VW) grams() {
	own := len(l.row)
	for k, s := range l.spaces {
		if slices.ContainsFunc(l.spaces[:k], func(before space) bool { return before.letter == s.letter }) {
			continue
		}
		l.left = l.featuresOf(s.letter, l.left, own)
		if len(l.left) > 1 {
			l.spaces = append(l.spaces, space{s.letter, len(l.row)})
		}
		for i := 1; i < len(l.left); i++ {
			l.row = append(l.row, uint64(GramOf(int32(l.left[i-1]>>32), int32(l.left[i]>>32), l.Bits))<<32|uint64(math.Float32bits(1)))
		}
	}
}

// featuresOf returns the row's features in namespaces that begin with the letter, in the memory of buf.
func (l *VW) featuresOf(letter byte, buf []uint64, end int) []uint64 {
	buf = buf[:0]
	for k, s := range l.spaces {
		to := end
		if k+1 < len(l.spaces) {
			to = l.spaces[k+1].from
		}
		if s.letter == letter {
			buf = append(buf, l.row[s.from:to]...)
		}
	}
	return buf
}

// pair adds the features of pairs to the row. The row begins at i and ends before end.
func (l *VW) pair(text []byte, i, end int) *Fault {
	own, made := len(l.row), 0
	for _, p := range l.Pairs {
		l.left = l.featuresOf(p[0], l.left, own)
		l.right = l.featuresOf(p[1], l.right, own)
		if made += len(l.left) * len(l.right); made > pairsMost {
			return &Fault{At: i, Width: max(1, end-i), What: fmt.Sprintf("the pairs of the row's namespaces make more than %d features", pairsMost), How: "name smaller namespaces with --quadratic"}
		}
		for k, a := range l.left {
			other := l.right
			if p[0] == p[1] {
				other = other[k:]
			}
			for _, b := range other {
				v := math.Float32frombits(uint32(a)) * math.Float32frombits(uint32(b))
				if v-v != 0 {
					return &Fault{At: i, Width: max(1, end-i), What: "the product of two values does not fit a 32-bit float", How: "scale the namespaces"}
				}
				if v != 0 {
					l.row = append(l.row, uint64(PairOf(int32(a>>32), int32(b>>32), l.Bits))<<32|uint64(math.Float32bits(v)))
				}
			}
		}
	}
	return nil
}

// Parse appends the rows of a block.
func (l *VW) Parse(text []byte, p *Piece) *Fault {
	for i := 0; i < len(text); {
		if text[i] <= ' ' {
			if i = skipBlanks(text, i, ' '); text[i] == '\n' || crlf(text, i) {
				i = lineEnd(text, i)
				continue
			}
		}
		label, weight, bar, f := l.head(text, i)
		if f != nil {
			return f
		}
		if l.LabelOrigin != 0 && !l.Unlabelled {
			label, _ = Shifted(token(text, i), l.LabelOrigin) // it was parsed before
		}
		from, start := len(p.Index), i
		if i, f = l.features(text, bar, p); f != nil {
			return f
		}
		if weight == 0 && !l.Unlabelled {
			p.Index, p.Value = p.Index[:from], p.Value[:from]
			p.Weightless++
			continue
		}
		if !l.Unlabelled {
			p.weigh(weight)
			l.Numerals.Note(text, start, start+len(token(text, start)), p)
		}
		p.Label = append(p.Label, label)
		p.Ends = append(p.Ends, int64(len(p.Index)))
	}
	return nil
}

const vwLine = "a line is label |namespace name:value ..., such as 1 |user age:0.4 city=rome"

// head parses the text before the first bar, from i.
func (l *VW) head(text []byte, i int) (label, weight float32, bar int, f *Fault) {
	start := i
	// the start of most lines
	if value, end := ordinary(text, i); end > i && text[end] == ' ' && text[end+1] == '|' {
		return value, 1, end + 1, nil
	}
	weight = 1
	var fields [4]int // their positions
	n := 0
	for text[i] != '|' {
		if text[i] == '\n' {
			return 0, 0, 0, &Fault{At: start, Width: max(1, i-start), What: "the line has no bar before its features", How: vwLine}
		}
		end := i
		for text[end] > ' ' && text[end] != '|' {
			end++
		}
		if text[i] == '\'' || text[end] == '|' { // a tag
			if i = skipBlanks(text, end, ' '); text[i] != '|' {
				return 0, 0, 0, &Fault{At: i, Width: max(1, len(token(text, i))), What: "text stands between the tag and the bar", How: vwLine}
			}
			if n == 0 && text[start] != '\'' && end > start && !l.Unlabelled {
				return 0, 0, 0, &Fault{At: start, Width: end - start, What: fmt.Sprintf("%s touches the bar, which makes it the tag of a line without a label",
					Quote(text[start:end])), How: "write a blank between the label and the bar"}
			}
			break
		}
		if n == len(fields)-1 {
			return 0, 0, 0, &Fault{At: i, Width: end - i, What: "more than a label, an importance weight and an initial prediction stand before the bar", How: vwLine}
		}
		fields[n] = i
		n++
		i = skipBlanks(text, end, ' ')
	}
	for k := range n {
		at, field := fields[k], token(text, fields[k])
		if bytes.IndexByte(field, ':') >= 0 {
			return 0, 0, 0, &Fault{At: at, Width: len(field), What: "labels with costs are for cost-sensitive classes, which are not supported", How: "write one label a line"}
		}
		if k == 1 {
			if weight, f = WeightOf(field, at, "importance weight", ""); f != nil {
				return 0, 0, 0, f
			}
			continue
		}
		v, err := Number(field)
		if err != nil {
			return 0, 0, 0, BadNumber(at, field, [...]string{"label", "", "initial prediction"}[k], "", "")
		}
		switch {
		case k == 0:
			label = v
		case k == 2 && v != 0:
			return 0, 0, 0, &Fault{At: at, Width: len(field), What: fmt.Sprintf("the row has the initial prediction %s, from which no application here begins", field), How: "leave it out of all lines"}
		}
	}
	if n == 0 && !l.Unlabelled {
		return 0, 0, 0, &Fault{At: start, Width: 1, What: "label is missing", How: "write it before the bar, with a blank between them; missing values are not guessed"}
	}
	return label, weight, i, nil
}

// features parses the rest of a line, from its first bar, and returns the position after it.
func (l *VW) features(text []byte, i int, p *Piece) (int, *Fault) {
	l.row, l.spaces = l.row[:0], l.spaces[:0]
	begin := i
	seed, weight, ignored := uint32(0), float32(1), false
	if l.Origins != nil {
		l.begin()
		l.scale = 1
	}
	mask := uint32(1)<<l.Bits - 1
	for {
		switch c := text[i]; c {
		case ' ', '\t':
			i++
			continue
		case '|':
			var f *Fault
			if seed, weight, ignored, i, f = l.namespace(text, i+1); f != nil {
				return 0, f
			}
			if l.Origins != nil {
				l.scale = l.exactWeight(text[:i], weight)
			}
			continue
		case '\n', '\r':
			if c == '\r' && text[i+1] != '\n' {
				break
			}
			if l.Grams {
				l.grams()
			}
			if f := l.pair(text, begin, i); f != nil {
				return 0, f
			}
			l.put(p)
			return lineEnd(text, i), nil
		}
		end := nameEnd(text, i)
		value, next := float32(1), end
		if text[end] == ':' {
			if end == i {
				return 0, &Fault{At: i, Width: max(1, len(token(text, i))), What: "the feature has no name", How: "write name:value"}
			}
			var f *Fault
			if value, next, f = l.value(text, i, end+1); f != nil {
				return 0, f
			}
		}
		if next == i || text[next] > ' ' && text[next] != '|' || text[next] < ' ' && text[next] != '\t' && text[next] != '\n' && !crlf(text, next) {
			return 0, &Fault{At: next, Width: 1, What: "the name holds a control character", How: "remove it; is this a file of text?"}
		}
		if end-i >= wideDigits && isWide(text[i:end]) {
			return 0, tooWide(i, text[i:end], "feature")
		}
		if v := value * weight; v != 0 && !ignored {
			if v-v != 0 {
				return 0, &Fault{At: i, Width: next - i, What: "the value times the weight of its namespace does not fit a 32-bit float", How: "scale the namespace"}
			}
			index := hash(text[i:end], seed) & mask
			l.row = append(l.row, uint64(index)<<32|uint64(math.Float32bits(v)))
			if l.Origins != nil {
				var field []byte
				if next > end {
					field = text[end+1 : next]
				}
				l.note(int32(index), field, v)
			}
		}
		i = next
	}
}

// wideDigits is the number of digits of the smallest number that does not fit 32 bits.
const wideDigits = 10

// isWide reports whether a name is a whole number of more than 32 bits. Its hash would be its lower bits, and numbers
// 2^32 apart would share a feature.
func isWide(name []byte) bool {
	if len(name) < wideDigits || !IsDigits(name) {
		return false
	}
	name = bytes.TrimLeft(name, "0")
	return len(name) > wideDigits || len(name) == wideDigits && string(name) > "4294967295"
}

func tooWide(at int, name []byte, noun string) *Fault {
	return &Fault{At: at, Width: len(name), What: fmt.Sprintf("the %s %s is a number of more than 32 bits, and the hash would keep only its lower 32", noun, name[:min(24, len(name))]),
		How: "begin the name with a letter, such as n" + string(name[:min(24, len(name))]) +
			", in all rows to train on and to predict, so that the whole name is hashed"}
}

// nameEnd returns the position of the first byte from i that ends a name: a colon, a bar, a blank or a control
// character.
func nameEnd(text []byte, i int) int {
	for ; i+8 <= len(text); i += 8 {
		word := binary.LittleEndian.Uint64(text[i:])
		colons, bars := word^':'*ones, word^'|'*ones
		if ends := ((colons-ones)&^colons | (bars-ones)&^bars | (word-(' '+1)*ones)&^word) & (0x80 * ones); ends != 0 {
			return i + bits.TrailingZeros64(ends)>>3 // bits above the first may be wrong
		}
	}
	for text[i] > ' ' && text[i] != ':' && text[i] != '|' {
		i++
	}
	return i
}

// value parses the value at a colon, after the name that begins at i.
func (l *VW) value(text []byte, i, at int) (value float32, next int, f *Fault) {
	if value, next = ordinary(text, at); next >= 0 && (text[next] <= ' ' || text[next] == '|') {
		return value, next, nil
	}
	for next = at; text[next] > ' ' && text[next] != '|'; {
		next++
	}
	value, err := Number(text[at:next])
	if err != nil {
		f := BadNumber(at, text[at:next], "feature value", "", string(text[i:min(at, i+quotedMax)]))
		if f.How == decimal {
			f.How = "write name:value with a number; a colon within a name is written otherwise, such as name=word"
		}
		return 0, 0, f
	}
	return value, next, nil
}

// namespace parses a namespace's name and weight, after the bar at i-1.
func (l *VW) namespace(text []byte, i int) (seed uint32, weight float32, ignored bool, next int, f *Fault) {
	end := i
	for text[end] > ' ' && text[end] != ':' && text[end] != '|' {
		end++
	}
	name := text[i:end]
	if isWide(name) {
		return 0, 0, false, 0, tooWide(i, name, "namespace")
	}
	letter := byte(' ')
	if len(name) > 0 {
		seed, letter = hash(name, 0), name[0]
	}
	if l.Grams || len(l.Pairs) > 0 {
		l.spaces = append(l.spaces, space{letter, len(l.row)})
	}
	for _, other := range l.Ignore {
		ignored = ignored || bytes.Equal(name, other)
	}
	if text[end] != ':' {
		return seed, 1, ignored, end, nil
	}
	if end == i {
		return 0, 0, false, 0, &Fault{At: i, Width: 1, What: "the weight belongs to a namespace without a name", How: "write |name:weight, or a blank after the bar"}
	}
	for next = end + 1; text[next] > ' ' && text[next] != '|'; {
		next++
	}
	weight, err := Number(text[end+1 : next])
	if err != nil {
		return 0, 0, false, 0, BadNumber(end+1, text[end+1:next], "weight of the namespace", "", string(text[i:min(end+1, i+quotedMax)]))
	}
	return seed, weight, ignored, next, nil
}

// put appends the row's features, ascending, and adds up values that share a feature.
func (l *VW) put(p *Piece) {
	l.row, l.left = ascending(l.row, l.left, l.Bits)
	from := len(p.Index)
	for _, e := range l.row {
		index, value := int32(e>>32), math.Float32frombits(uint32(e))
		if last := len(p.Index) - 1; last >= from && p.Index[last] == index {
			p.Value[last] += value
			continue
		}
		p.Index, p.Value = append(p.Index, index), append(p.Value, value)
	}
	if l.Origins != nil {
		l.shift(p, from)
	}
}

// ascending sorts a row whose indices have width bits. It uses other as scratch memory, and returns the sorted memory
// and the rest. Hashes are spread evenly, so after a distribution by their highest bits nearly all are in place.
// Sorting by comparison takes a logarithmic number of comparisons for each, whose outcome no CPU predicts.
func ascending(row, other []uint64, width int) (sorted, rest []uint64) {
	if len(row) < 16 || slices.IsSorted(row) {
		slices.Sort(row)
		return row, other
	}
	const ways = 128
	shift := 32 + max(width-7, 0)
	var ends [ways]uint32
	for _, e := range row {
		ends[e>>(shift&63)&(ways-1)]++
	}
	other = slices.Grow(other[:0], len(row))[:len(row)]
	sum, most := uint32(0), uint32(0)
	for k, n := range ends {
		ends[k], sum, most = sum, sum+n, max(most, n)
	}
	for _, e := range row {
		k := e >> (shift & 63) & (ways - 1)
		other[ends[k]] = e
		ends[k]++
	}
	if most > 16 { // as with names that are numbers
		from := uint32(0)
		for _, end := range ends {
			if end-from > 16 {
				slices.Sort(other[from:end])
			}
			from = end
		}
	}
	for i := 1; i < len(other); i++ {
		e, k := other[i], i
		for ; k > 0 && other[k-1] > e; k-- {
			other[k] = other[k-1]
		}
		other[k] = e
	}
	return other, row
}

// Hashed returns the feature of a name in a namespace; "" is the namespace without a name.
func Hashed(namespace, name string, bits int) int32 {
	seed := uint32(0)
	if namespace != "" {
		seed = hash([]byte(namespace), 0)
	}
	return int32(hash([]byte(name), seed) & (1<<bits - 1))
}

// PairOf returns the feature of two features by VW.Pairs.
func PairOf(first, second int32, bits int) int32 {
	return int32((uint32(first)*pairPrime ^ uint32(second)) & (1<<bits - 1))
}

// GramOf returns the feature of two adjacent features by VW.Grams.
func GramOf(first, second int32, bits int) int32 {
	return int32((uint32(first)*gramPrime + uint32(second)) & (1<<bits - 1))
}

// hash returns the hash of a name: the number itself if it is one, else MurmurHash3 (x86, 32 bits, by Austin Appleby).
func hash(name []byte, seed uint32) uint32 {
	if c := name[0]; c >= '0' && c <= '9' {
		n := uint32(0)
		for i, c := range name {
			if c < '0' || c > '9' {
				break
			}
			if n = n*10 + uint32(c-'0'); i == len(name)-1 {
				return n + seed
			}
		}
	}
	return murmur(name, seed)
}

func murmur(name []byte, seed uint32) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, rest := seed, name
	for ; len(rest) >= 4; rest = rest[4:] {
		h ^= bits.RotateLeft32(binary.LittleEndian.Uint32(rest)*c1, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	k := uint32(0)
	if len(name) >= 4 {
		k = binary.LittleEndian.Uint32(name[len(name)-4:]) >> (32 - 8*len(rest)) // 0 for no bytes
	} else {
		for i, c := range rest {
			k |= uint32(c) << (8 * i)
		}
	}
	h ^= bits.RotateLeft32(k*c1, 15) * c2
	h ^= uint32(len(name))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// LooksVW reports whether a line can only be one of Vowpal Wabbit: it has numbers and perhaps a tag before its first
// bar, and a name with a letter after it.
func LooksVW(line []byte) bool {
	head, rest, found := bytes.Cut(line, []byte("|"))
	if !found {
		return false
	}
	fields := bytes.Fields(head)
	if n := len(fields); n > 0 && (fields[n-1][0] == '\'' || n > 1 && head[len(head)-1] > ' ') {
		fields = fields[:n-1]
	}
	if len(fields) > 3 || slices.ContainsFunc(fields, func(f []byte) bool { return !IsNumber(f) }) || len(rest) == 0 {
		return false
	}
	return bytes.ContainsFunc(rest, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80 }) && !bytes.ContainsAny(rest, ",;\t")
}
