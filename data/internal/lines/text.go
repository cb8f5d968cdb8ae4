package lines

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// Text parses plain text, one document a line, into words.
//
// A word is a run of letters, marks and digits in lower case, with apostrophes inside, of 2
// characters to WordBytes bytes, with at least one letter. What stands between words, shorter and
// longer runs, and numbers are not kept. A line without a word is an empty document.
//
// Words of Stops are not kept either. With Pairs, each two words that follow each other among those of a document that are kept are one more word, joined by PairJoin.
//
// A piece gets the words of its documents as Index, numbers of the worker's own IDs, and their Ends.
type Text struct {
	Words *IDs
	Stops map[string]bool // words that are left out
	Pairs bool            // words that follow each other are a word, too
	Block int32           // number of the block being parsed

	word   [wordRoom]byte // the word being read; what is beyond its end is of a run that is no word
	before int32          // the number of the word before in the document, leftOut at its beginning
	pair   []byte
	near   []seen // words that were met not long ago, by their letters
	shift  int    // of a hash to a place in near
	resets int    // of Words, when near was filled
}

// WordBytes is the longest word; longer runs are addresses, encodings or damage.
const WordBytes = 48

// PairJoin stands between two words that are one; no word has it.
const PairJoin = '_'

// wordRoom is a power of two above WordBytes.
const wordRoom = 64

// So many words are remembered by their letters: few at first, since a text may be a line; then as many as a core's own cache has room for. Most words of a text are few.
const (
	nearLeast = 10 // bits of their places
	nearMost  = 15
	nearBytes = 16 // of the longest word that is
)

// seen is a word of at most nearBytes bytes, in two numbers, or two words by theirs; lo is never 0 where there is one.
type seen struct {
	lo, hi uint64
	at     int32 // its number, or leftOut
}

// leftOut is the number of a word that is not kept.
const leftOut = -1

// Parse appends the documents of a block.
func (l *Text) Parse(text []byte, p *Piece) *Fault {
	switch {
	case l.near == nil:
		l.remember(nearLeast)
	case l.resets != l.Words.resets:
		clear(l.near)
	}
	l.resets, l.before = l.Words.resets, leftOut
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case folded[c] != 0 || c >= utf8.RuneSelf:
			next, f := l.take(text, i, p)
			if f != nil {
				return f
			}
			i = next
		case c == '\n':
			p.Ends, p.Label = append(p.Ends, int64(len(p.Index))), append(p.Label, 0)
			l.before = leftOut
			i++
		case c == 0:
			return &Fault{At: i, Width: 1, What: "the text holds a NUL byte", How: "documents are UTF-8 text, one a line; is this a text file?"}
		default:
			i++
		}
	}
	return nil
}

// folded is the ASCII characters that words are made of, in lower case, and 0 for all other bytes.
var folded = func() (set [256]byte) {
	for c := range utf8.RuneSelf {
		switch {
		case c >= '0' && c <= '9':
			set[c] = byte(c)
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			set[c] = byte(c) | 0x20
		}
	}
	return set
}()

// letterBit is set in lower-case letters of ASCII, and not in digits.
const letterBit = 0x40

// take reads the word that may start at i, and returns the position behind it.
func (l *Text) take(text []byte, i int, p *Piece) (next int, f *Fault) {
	n, more := 0, 0 // bytes of the word, and of them those beside one for each character
	letters := byte(0)
	for {
		c := text[i]
		if low := folded[c]; low != 0 {
			l.word[n%wordRoom] = low
			letters |= low
			n++
			i++
			continue
		}
		if c < utf8.RuneSelf {
			if c != '\'' || n == 0 || !beginsLetter(text[i+1:]) {
				l.add(n, n-more, letters, p)
				return i, nil
			}
			l.word[n%wordRoom] = c
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return 0, &Fault{At: i, Width: 1, What: "the text is not UTF-8", How: "convert it, for example with iconv -f ISO-8859-1 -t UTF-8"}
		case unicode.IsLetter(r):
			letters |= letterBit
			r = unicode.ToLower(r)
		case unicode.IsDigit(r):
		case n > 0 && unicode.IsMark(r):
		case r == '’' && n > 0 && beginsLetter(text[i+size:]):
			r = '\''
		default:
			if l.add(n, n-more, letters, p); n == 0 {
				i += size
			}
			return i, nil
		}
		var as [utf8.UTFMax]byte
		wide := utf8.EncodeRune(as[:], r)
		for _, b := range as[:wide] {
			l.word[n%wordRoom] = b
			n++
		}
		more += wide - 1
		i += size
	}
}

func beginsLetter(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return unicode.IsLetter(r)
}

// add numbers the word that was read, of so many bytes and characters, if it is one that is kept, and the pair that it makes.
func (l *Text) add(n, runes int, letters byte, p *Piece) {
	if runes < 2 || letters&letterBit == 0 || n > WordBytes {
		return
	}
	at := l.number(n)
	if at == leftOut {
		return
	}
	p.Index = append(p.Index, at)
	if !l.Pairs {
		return
	}
	if l.before != leftOut {
		if both := l.both(l.before, at); both != leftOut {
			p.Index = append(p.Index, both)
		}
	}
	l.before = at
}

// number is that of the word that was read.
func (l *Text) number(n int) int32 {
	if n > nearBytes {
		return l.look(l.word[:n])
	}
	lo, hi := binary.LittleEndian.Uint64(l.word[:]), binary.LittleEndian.Uint64(l.word[8:])
	if n < 8 {
		lo, hi = lo&(1<<(8*n)-1), 0
	} else {
		hi &= 1<<(8*(n-8)) - 1 // of 16 bytes all
	}
	s := l.place(lo, hi)
	if s.lo != lo || s.hi != hi {
		*s = seen{lo, hi, l.look(l.word[:n])}
	}
	return s.at
}

// both is the number of two words as one.
func (l *Text) both(first, second int32) int32 {
	lo, hi := uint64(first)<<32|uint64(uint32(second))+1, ^uint64(0) // no word ends in such bytes
	s := l.place(lo, hi)
	if s.lo != lo || s.hi != hi {
		l.pair = append(append(append(l.pair[:0], l.Words.name(first)...), PairJoin), l.Words.name(second)...)
		at, ok := l.Words.text(l.pair, l.Block)
		if !ok {
			at = leftOut
		}
		*s = seen{lo, hi, at}
	}
	return s.at
}

// remember makes places for words.
func (l *Text) remember(bits int) {
	l.near, l.shift = make([]seen, 1<<bits), 64-bits
}

// place is where a word is remembered, or another one in its stead.
func (l *Text) place(lo, hi uint64) *seen {
	const odd, other = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f
	h := (lo ^ hi*other) * odd
	return &l.near[(h^h>>29)*odd>>l.shift]
}

// look finds a word, or gives it the next number.
func (l *Text) look(word []byte) int32 {
	if met := len(l.Words.ends); 2*met > len(l.near) && len(l.near) < 1<<nearMost {
		l.remember(min(64-l.shift+2, nearMost)) // what is forgotten is looked up once more
	}
	if l.Stops[string(word)] {
		return leftOut
	}
	at, ok := l.Words.text(word, l.Block)
	if !ok {
		return leftOut
	}
	return at
}
