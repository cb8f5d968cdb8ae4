package lines

import (
	"unicode"
	"unicode/utf8"
)

// Text parses plain text, one document a line, into words.
//
// A word is a run of letters, marks and digits in lower case, with apostrophes inside, of 2
// characters to WordBytes bytes, with at least one letter. What stands between words, shorter and
// longer runs, and numbers are not kept. A line without a word is an empty document.
//
// A piece gets the words of its documents as Index, numbers of the worker's own IDs, and their Ends.
type Text struct {
	Words *IDs
	Block int32 // number of the block being parsed
	word  []byte
}

// WordBytes is the longest word; longer runs are addresses, encodings or damage.
const WordBytes = 48

// Parse appends the documents of a block.
func (l *Text) Parse(text []byte, p *Piece) *Fault {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\n':
			p.Ends, p.Label = append(p.Ends, int64(len(p.Index))), append(p.Label, 0)
			i++
		case c == 0:
			return &Fault{At: i, Width: 1, What: "the text holds a NUL byte", How: "documents are UTF-8 text, one a line; is this a text file?"}
		case c < utf8.RuneSelf && !letterOrDigit[c]:
			i++
		default:
			next, f := l.take(text, i, p)
			if f != nil {
				return f
			}
			i = next
		}
	}
	return nil
}

// letterOrDigit marks the ASCII characters that words are made of.
var letterOrDigit = func() (set [utf8.RuneSelf]bool) {
	for c := range set {
		set[c] = c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	return set
}()

// take reads the word that may start at i, and returns the position behind it.
func (l *Text) take(text []byte, i int, p *Piece) (next int, f *Fault) {
	l.word = l.word[:0]
	runes, letters := 0, 0
	for {
		c := text[i]
		if c < utf8.RuneSelf {
			switch {
			case c >= 'A' && c <= 'Z':
				c |= 0x20
				letters++
			case c >= 'a' && c <= 'z':
				letters++
			case c >= '0' && c <= '9':
			case c == '\'' && runes > 0 && beginsLetter(text[i+1:]):
			default:
				return i, l.add(runes, letters, p)
			}
			l.word = append(l.word, c)
			runes++
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return 0, &Fault{At: i, Width: 1, What: "the text is not UTF-8", How: "convert it, for example with iconv -f ISO-8859-1 -t UTF-8"}
		case unicode.IsLetter(r):
			letters++
			r = unicode.ToLower(r)
		case unicode.IsDigit(r):
		case runes > 0 && unicode.IsMark(r):
		case r == '’' && runes > 0 && beginsLetter(text[i+size:]):
			r = '\''
		default:
			if f = l.add(runes, letters, p); runes == 0 {
				i += size
			}
			return i, f
		}
		l.word = utf8.AppendRune(l.word, r)
		runes++
		i += size
	}
}

func beginsLetter(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return unicode.IsLetter(r)
}

// add numbers the word that was read, if it is one.
func (l *Text) add(runes, letters int, p *Piece) *Fault {
	if runes < 2 || letters == 0 || len(l.word) > WordBytes {
		return nil
	}
	if at, ok := l.Words.text(l.word, l.Block); ok {
		p.Index = append(p.Index, at)
	}
	return nil
}
