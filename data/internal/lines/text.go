package lines

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf8"

	"bellows/data/internal/wordcache"
)

// Text parses plain text, one document per line, into words.
//
// Words are runs of letters, marks and digits in lower case, with apostrophes inside, of 2 characters to WordBytes
// bytes, with at least one letter. Text between words, shorter and longer runs, and numbers are not kept. A line
// without words is an empty document.
//
// The words in Stops are not kept.
//
// A piece gets its documents' words as Index, numbers of the worker's own IDs, and their Ends.
type Text struct {
	Words *IDs
	Stops map[string]bool // stop words, which are left out
	Block int32           // number of the block being parsed

	word   [wordRoom]byte  // the word being read; a run that exceeds it is no word
	cache  wordcache.Cache // cache of recent words
	resets int             // of Words, when the cache was filled
	queued int             // words of queue
	queue  [wordsAtOnce]wordcache.Word
}

// wordsAtOnce is the number of short words that are found at a time.
const wordsAtOnce = 64

// WordBytes is the length of the longest word. Longer runs are addresses, encodings or damage.
const WordBytes = 48

// nearBytes is the length of the longest word that the cache takes.
const nearBytes = 16

// wordRoom is a power of two above WordBytes.
const wordRoom = 64

// leftOut is the number of a dropped word.
const leftOut = -1

// Parse appends the documents of a block.
func (l *Text) Parse(text []byte, p *Piece) *Fault {
	switch {
	case l.cache.Empty():
		l.cache.Grow(len(l.Words.ends))
	case l.resets != l.Words.resets:
		l.cache.Clear()
	}
	l.resets = l.Words.resets
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case folded[c] != 0 || c >= utf8.RuneSelf:
			if next := l.takeShort(text, i, p); next > 0 {
				i = next
				continue
			}
			l.numberQueued(p)
			next, f := l.take(text, i, p)
			if f != nil {
				return f
			}
			i = next
		case c == '\n':
			l.enqueue(wordcache.Word{}, p)
			i++
		case c == 0:
			l.numberQueued(p)
			return &Fault{At: i, Width: 1, What: "the text holds a NUL byte", How: "documents are UTF-8 text, one a line; is this a text file?"}
		default:
			i++
		}
	}
	l.numberQueued(p)
	return nil
}

// enqueue keeps a short word for numberQueued; the empty word is the end of a document.
func (l *Text) enqueue(w wordcache.Word, p *Piece) {
	if l.queued == wordsAtOnce {
		l.numberQueued(p)
	}
	l.queue[l.queued] = w
	l.queued++
}

// numberQueued numbers the words of the queue in order. It touches all of them first, so that the processor waits for
// memory once, and not once for each word.
func (l *Text) numberQueued(p *Piece) {
	queue := l.queue[:l.queued]
	l.queued = 0
	l.cache.Touch(queue)
	for _, w := range queue {
		if w.Lo == 0 {
			p.Ends, p.Label = append(p.Ends, int64(len(p.Index))), append(p.Label, 0)
			continue
		}
		if at := l.numberShort(w); at != leftOut {
			p.Index = append(p.Index, at)
		}
	}
}

// numberShort returns the number of a short word.
func (l *Text) numberShort(w wordcache.Word) int32 {
	if at, ok := l.cache.Find(w); ok {
		return at
	}
	binary.LittleEndian.PutUint64(l.word[:], w.Lo)
	binary.LittleEndian.PutUint64(l.word[8:], w.Hi)
	at := l.look(l.word[:w.Len()])
	l.cache.Grow(len(l.Words.ends))
	l.cache.Add(w, at)
	return at
}

// takeShort reads the word at i and returns the position after it, if it has at most 15 characters, all of
// them ASCII and none an apostrophe; else 0. It reads eight bytes at once, since most words are short. That saves the
// work of a loop over bytes, and the branch on their number, which no CPU predicts.
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
		l.enqueue(wordcache.Word{Lo: lo, Hi: hi}, p)
	}
	return next
}

// characters classifies eight bytes, by the highest bit of each: others are the bytes that are no letter or digit of
// ASCII, letters are the letters. After the first other byte, letters is undefined.
func characters(word uint64) (others, letters uint64) {
	low := word &^ (0x80 * ones)
	small := low | 0x20*ones
	letters = (small + (0x80-'a')*ones) &^ (small + (0x7f-'z')*ones)
	digits := (low + (0x80-'0')*ones) &^ (low + (0x7f-'9')*ones)
	return (^(letters | digits) | word) & (0x80 * ones), letters & (0x80 * ones)
}

// folded maps the ASCII characters of words to lower case, and all other bytes to 0.
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

// take reads a word at i, if one starts there, and returns the position after it.
func (l *Text) take(text []byte, i int, p *Piece) (next int, f *Fault) {
	n, more := 0, 0 // bytes of the word, and the number of bytes beyond one per character
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
			return 0, &Fault{At: i, Width: 1, What: "the text is not UTF-8",
				How: "convert it, for example with iconv -f ISO-8859-1 -t UTF-8"}
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

// add numbers the word just read, unless it is dropped. n and runes are its bytes and characters.
func (l *Text) add(n, runes int, letters byte, p *Piece) {
	if runes < 2 || letters&letterBit == 0 || n > WordBytes {
		return
	}
	if at := l.number(n); at != leftOut {
		p.Index = append(p.Index, at)
	}
}

// number returns the number of the word just read.
func (l *Text) number(n int) int32 {
	if n > nearBytes {
		return l.look(l.word[:n])
	}
	lo, hi := binary.LittleEndian.Uint64(l.word[:]), binary.LittleEndian.Uint64(l.word[8:])
	if n < 8 {
		lo, hi = lo&(1<<(8*n)-1), 0
	} else {
		hi &= 1<<(8*(n-8)) - 1 // for 16 bytes the mask is all ones
	}
	return l.numberShort(wordcache.Word{Lo: lo, Hi: hi})
}

// look finds a word. A new one gets the next number.
func (l *Text) look(word []byte) int32 {
	if l.Stops[string(word)] {
		return leftOut
	}
	at, ok := l.Words.text(word, l.Block)
	if !ok {
		return leftOut
	}
	return at
}
