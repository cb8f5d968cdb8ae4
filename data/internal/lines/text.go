package lines

import (
	"encoding/binary"
	"math/bits"
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
	near   near           // words that were met not long ago, by their letters
	resets int            // of Words, when near was filled
	behind []together     // pairs that have a place in the piece, and no number yet
}

// WordBytes is the longest word; longer runs are addresses, encodings or damage.
const WordBytes = 48

// PairJoin stands between two words that are one; no word has it.
const PairJoin = '_'

// wordRoom is a power of two above WordBytes.
const wordRoom = 64

// leftOut is the number of a word that is not kept.
const leftOut = -1

// Parse appends the documents of a block.
func (l *Text) Parse(text []byte, p *Piece) *Fault {
	switch {
	case l.near.sets == nil:
		l.near.grow(len(l.Words.ends))
	case l.resets != l.Words.resets:
		clear(l.near.sets)
	}
	l.resets, l.before, l.behind = l.Words.resets, leftOut, l.behind[:0]
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case folded[c] != 0 || c >= utf8.RuneSelf:
			if next := l.takeShort(text, i, p); next > 0 {
				i = next
				continue
			}
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
	l.pair(p)
	return nil
}

// takeShort reads the word that starts at i and returns the position behind it, where it is of at most 15 characters, all of ASCII and none an apostrophe; else 0. It looks
// at eight bytes at once, as most words are: what a loop over bytes does for each of them, and the guess how many there are, which no CPU gets right, are not there.
func (l *Text) takeShort(text []byte, i int, p *Piece) (next int) {
	if len(text)-i < nearBytes {
		return 0
	}
	const lower = 0x20 * ones
	var hi uint64
	lo := binary.LittleEndian.Uint64(text[i:])
	others, letters := characters(lo)
	lo |= lower
	n := bits.TrailingZeros64(others) >> 3
	if others == 0 {
		hi = binary.LittleEndian.Uint64(text[i+8:])
		others, more := characters(hi)
		if others == 0 {
			return 0
		}
		n = bits.TrailingZeros64(others) >> 3
		below := uint64(1)<<(8*n&63) - 1
		hi = (hi | lower) & below
		letters |= more & below
		n += 8
	} else {
		below := uint64(1)<<(8*n&63) - 1
		lo &= below
		letters &= below
	}
	next = i + n
	if c := text[next]; c >= utf8.RuneSelf || c == '\'' {
		return 0
	}
	if n >= 2 && letters != 0 {
		at, ok := l.near.find(lo, hi)
		if !ok {
			at = l.lookShort(lo, hi, n, p)
		}
		if at != leftOut {
			l.put(at, p)
		}
	}
	return next
}

// characters are those of eight bytes, as the highest bits of the bytes: what is no letter or digit of ASCII, and what is a letter; behind the first other character the letters are any.
func characters(word uint64) (others, letters uint64) {
	low := word &^ (0x80 * ones)
	small := low | 0x20*ones
	letters = (small + (0x80-'a')*ones) &^ (small + (0x7f-'z')*ones)
	digits := (low + (0x80-'0')*ones) &^ (low + (0x7f-'9')*ones)
	return (^(letters | digits) | word) & (0x80 * ones), letters & (0x80 * ones)
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
	if at := l.number(n, p); at != leftOut {
		l.put(at, p)
	}
}

// put appends a word that is kept, and the pair that it makes.
func (l *Text) put(at int32, p *Piece) {
	p.Index = append(p.Index, at)
	if !l.Pairs {
		return
	}
	if l.before != leftOut {
		l.behind = append(l.behind, together{first: l.before, second: at, to: len(p.Index)})
		p.Index = append(p.Index, leftOut)
		if len(l.behind) == pairsAtOnce {
			l.pair(p)
		}
	}
	l.before = at
}

// pairsAtOnce is how many pairs get their numbers at a time.
const pairsAtOnce = 64

// pair gives the pairs that have none their numbers.
func (l *Text) pair(p *Piece) {
	if len(l.behind) > 0 {
		l.Words.pairs.number(l.Words, l.behind, p.Index, l.Block)
		l.behind = l.behind[:0]
	}
}

// number is that of the word that was read.
func (l *Text) number(n int, p *Piece) int32 {
	if n > nearBytes {
		return l.look(l.word[:n], p)
	}
	lo, hi := binary.LittleEndian.Uint64(l.word[:]), binary.LittleEndian.Uint64(l.word[8:])
	if n < 8 {
		lo, hi = lo&(1<<(8*n)-1), 0
	} else {
		hi &= 1<<(8*(n-8)) - 1 // of 16 bytes all
	}
	at, ok := l.near.find(lo, hi)
	if !ok {
		at = l.lookShort(lo, hi, n, p)
	}
	return at
}

// lookShort looks for a word of at most nearBytes bytes, and remembers it.
func (l *Text) lookShort(lo, hi uint64, n int, p *Piece) int32 {
	binary.LittleEndian.PutUint64(l.word[:], lo)
	binary.LittleEndian.PutUint64(l.word[8:], hi)
	at := l.look(l.word[:n], p)
	l.near.grow(len(l.Words.ends))
	l.near.add(lo, hi, at)
	return at
}

// look finds a word, or gives it the next number, behind those of the pairs before it.
func (l *Text) look(word []byte, p *Piece) int32 {
	l.pair(p)
	if l.Stops[string(word)] {
		return leftOut
	}
	at, ok := l.Words.text(word, l.Block)
	if !ok {
		return leftOut
	}
	return at
}
