package lines

import (
	"bytes"
	"encoding/binary"
)

// NumeralsMost bounds the spellings of labels that one goroutine tells apart. Labels with more spellings are numbers to
// predict or ids, not classes.
const NumeralsMost = 1 << 13

// Numerals records how labels that are numbers are written, so that no two are merged because a float does not hold
// their digits, and so that classes are shown as the data has them.
//
// A plain numeral, of up to six characters as strconv.FormatFloat writes them, is identified by its value: a 32-bit
// float tells numbers of six digits apart. Piece.Numeral stays empty for it. Any other spelling, such as +1, 1.0, 007
// or 16777217, gets a number here.
//
// Rejected: every label as text, which takes a look-up for each row; and labels in 64 bits, which still merge
// 9007199254740993 and ...992.
type Numerals struct {
	// All gives plain numerals numbers as well: the value of a label that is counted from an origin does not say how it
	// is written.
	All    bool
	ids    IDs
	keys   map[NumeralKey]int32 // of numbers in 64 bits; -1 for plain ones
	many   bool                 // more than NumeralsMost were found, and recording stopped
	recent [64]recentNumeral
}

// A recentNumeral is a spelling of up to eight bytes that occurred recently.
type recentNumeral struct {
	word uint64
	id   int32
}

// plainDigits is the length of the longest plain numeral, without its sign.
const plainDigits = 6

// Note records the spelling of the next row's label: text[i:end], perhaps in quotes or with blanks around it. The
// caller appends the label to the piece after that. Note may read text after end.
func (n *Numerals) Note(text []byte, i, end int, p *Piece) {
	if n == nil || !n.All && plainAt(text, i, end) {
		return
	}
	n.noteUnusual(text, i, end, p)
}

// plainAt reports whether text[i:end], which is a number, is a plain numeral. It may return false for a plain one.
func plainAt(text []byte, i, end int) bool {
	if end-i == 1 {
		return true
	}
	if i+8 > len(text) {
		return false
	}
	word := binary.LittleEndian.Uint64(text[i:])
	if byte(word) == '-' {
		word >>= 8
		i++
	}
	size := uint(end - i)
	if size-1 >= plainDigits { // also for an empty one
		return false
	}
	first, last := byte(word)-'0', byte(word>>(8*size-8))
	switch {
	// it begins with + or a point, ends with a blank, or has an exponent
	case first > 9, last-'0' > 9, word<<(64-8*size)&0x4040404040404040 != 0:
		return false
	case first == 0: // 0.5, but neither 01 nor -0
		return size > 2 && byte(word>>8) == '.' && last != '0'
	}
	return last != '0' || bytes.IndexByte(text[i:end], '.') < 0
}

// noteUnusual records a spelling that does not look plain.
func (n *Numerals) noteUnusual(text []byte, i, end int, p *Piece) {
	field := text[i:end]
	// searching a set of bytes would take as long as the rest
	if last := field[len(field)-1]; last == '"' || last <= ' ' || field[0] == '"' {
		field = bytes.Trim(field, "\" \t\r")
	}
	n.NoteRow(len(p.Label), field, p)
}

// NoteRow records the spelling of the label of a row of the piece. Rows are noted in ascending order.
func (n *Numerals) NoteRow(row int, field []byte, p *Piece) {
	if n.many {
		return
	}
	var r *recentNumeral
	word := uint64(0)
	if len(field) <= 8 {
		for k, c := range field {
			word |= uint64(c) << (8 * k)
		}
		if r = &n.recent[word*0x9e3779b97f4a7c15>>58]; r.word == word && word != 0 {
			p.number(row, r.id)
			return
		}
	}
	id := n.number(field)
	if id < 0 {
		return
	}
	if r != nil {
		*r = recentNumeral{word, id}
	}
	p.number(row, id)
}

// number returns the number of a spelling. It is -1 for a plain one, and when there are too many.
func (n *Numerals) number(field []byte) int32 {
	if !n.All && isPlain(field) {
		return -1
	}
	id, ok := n.ids.text(field, 0)
	if !ok || len(n.ids.ends) > NumeralsMost {
		n.giveUp()
		return -1
	}
	return id
}

func (n *Numerals) giveUp() { n.ids, n.keys, n.many = IDs{}, nil, true }

// A NumeralKey identifies a number of a file that keeps numbers in 64 bits: its bits, its kind, and the power of ten
// that divides it.
type NumeralKey struct {
	Of    byte
	Scale int
	Bits  uint64
}

// NoteKey records a number that NoteNew has recorded before under the same key, and reports whether it has.
func (n *Numerals) NoteKey(row int, key NumeralKey, p *Piece) bool {
	if n.many {
		return true
	}
	id, known := n.keys[key]
	if known && id >= 0 {
		p.number(row, id)
	}
	return known
}

// NoteNew records the number of a key, with its text.
func (n *Numerals) NoteNew(row int, key NumeralKey, field []byte, p *Piece) {
	id := n.number(field)
	switch {
	case n.many:
		return
	case len(n.keys) >= NumeralsMost:
		n.giveUp()
		return
	case n.keys == nil:
		n.keys = map[NumeralKey]int32{}
	}
	if n.keys[key] = id; id >= 0 {
		p.number(row, id)
	}
}

// number gives a row the number of its spelling.
func (p *Piece) number(row int, id int32) {
	for len(p.Numeral) < row {
		p.Numeral = append(p.Numeral, -1)
	}
	p.Numeral = append(p.Numeral, id)
}

// isPlain reports whether a number that stands alone is a plain numeral.
func isPlain(field []byte) bool {
	digits := bytes.TrimPrefix(field, []byte("-"))
	if len(digits) == 0 || len(digits) > plainDigits || bytes.ContainsAny(digits, "eE+") {
		return false
	}
	whole, part, point := bytes.Cut(digits, []byte("."))
	switch {
	case len(whole) == 0, len(whole) > 1 && whole[0] == '0', point && (len(part) == 0 || part[len(part)-1] == '0'):
		return false
	}
	return len(digits) == len(field) || string(digits) != "0"
}

// Many reports whether there are too many spellings to tell apart.
func (n *Numerals) Many() bool { return n.many }

// List returns the spellings by their numbers.
func (n *Numerals) List() []string { return n.ids.List() }

// Reset forgets all spellings.
func (n *Numerals) Reset() {
	if len(n.ids.ends) > 0 || len(n.keys) > 0 || n.many {
		n.ids.Reset()
		clear(n.keys)
		n.many, n.recent = false, [64]recentNumeral{}
	}
}
