package lines

import (
	"cmp"
	"fmt"
)

// LDAC parses "M word:count word:count ..." lines, one per document, as Blei's programs write them: M is the number of
// pairs, and words count from 0. The words of a line may stand in any order; each occurs once.
//
// A piece gets the words of its documents, ascending, as Index, their counts as Value, and their Ends.
type LDAC struct {
	WordMax int    // largest word allowed
	Beyond  string // hint for a larger word; "": renumber the words
	row     unsorted
}

// Parse appends the documents of a block.
func (l *LDAC) Parse(text []byte, p *Piece) *Fault {
	for i := 0; i < len(text); {
		if text[i] <= ' ' {
			if i = skipBlanks(text, i, ' '); text[i] == '\n' || crlf(text, i) {
				i = lineEnd(text, i)
				continue
			}
		}
		next, f := l.document(text, i, p)
		if f != nil {
			return f
		}
		p.Label, p.Ends = append(p.Label, 0), append(p.Ends, int64(len(p.Index)))
		i = next
	}
	return nil
}

const ldacLine = "each line is a document: how many different words it has, then word:count for each, with words " +
	"numbered from 0, such as 2 0:3 17:1"

// document parses the line that starts at i and returns the position after it.
func (l *LDAC) document(text []byte, i int, p *Piece) (int, *Fault) {
	at, from := i, len(p.Index)
	stated, i := whole(text, i)
	if i == at || text[i] > ' ' || i-at > 10 {
		field := token(text, at)
		return 0, &Fault{At: at, Width: max(1, len(field)), What: fmt.Sprintf("the number of words, %s, is not a whole number", Quote(field)), How: ldacLine}
	}
	previous, ascending := -1, true
	words, counts := p.Index, p.Value
	for {
		for text[i] == ' ' || text[i] == '\t' {
			i++
		}
		first := i
		word, end := whole(text, i)
		if text[end] != ':' || end == first || end-first > 10 {
			if text[first] == '\n' || crlf(text, first) {
				break
			}
			return 0, l.badPair(text, first)
		}
		if word > l.WordMax {
			return 0, &Fault{At: first, Width: end - first, What: fmt.Sprintf("word %d is larger than %d", word, l.WordMax),
				How: cmp.Or(l.Beyond, "number the words anew, from 0: only those that occur need a number")}
		}
		count, after := whole(text, end+1)
		if after == end+1 || text[after] > ' ' || after-end > 10 || count < 1 || count > CountMax {
			return 0, l.badCount(text, end+1)
		}
		ascending = ascending && word > previous
		previous = word
		words, counts = append(words, int32(word)), append(counts, float32(count))
		i = after
	}
	p.Index, p.Value = words, counts
	if n := len(words) - from; n != stated {
		return 0, &Fault{At: at, Width: max(1, len(token(text, at))), What: fmt.Sprintf("the line promises %s, and has %d", Plural(stated, "word"), n),
			How: "the number before the pairs is how many there are; is the line cut short?"}
	}
	if !ascending {
		if word := l.row.sort(words[from:], counts[from:]); word >= 0 {
			where, width := entryAt(text, at, word)
			return 0, &Fault{At: where, Width: width, What: fmt.Sprintf("word %d occurs twice in a line", word), How: "add the two counts up"}
		}
	}
	if last := len(words) - 1; last >= from {
		p.High = max(p.High, words[last])
	}
	return lineEnd(text, i), nil
}

func (l *LDAC) badPair(text []byte, at int) *Fault {
	field := token(text, at)
	return &Fault{At: at, Width: max(1, len(field)), What: fmt.Sprintf("%s is no word:count of whole numbers", Quote(field)), How: ldacLine}
}

func (l *LDAC) badCount(text []byte, at int) *Fault {
	field := token(text, at)
	f := &Fault{At: at, Width: max(1, len(field)), What: fmt.Sprintf("count %s is not a whole number", Quote(field)), How: ldacLine}
	switch n, end := whole(text, at); {
	case len(field) == 0:
		f.What = "count is missing"
	case IsDigits(field) && (end-at > 9 || n > CountMax || n < 1):
		f.What = fmt.Sprintf("count %s is outside 1 to %d", field[:min(24, len(field))], CountMax)
	}
	return f
}
