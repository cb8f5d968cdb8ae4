package lines

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// plainWords returns the words that Text should find in a document, by a slow reference.
func plainWords(doc string, stops map[string]bool) (words []string) {
	runes := []rune(doc)
	for i := 0; i < len(runes); {
		word, letters := []rune(nil), 0
		for ; i < len(runes); i++ {
			r := runes[i]
			switch {
			case unicode.IsLetter(r):
				letters++
				r = unicode.ToLower(r)
			case unicode.IsDigit(r), len(word) > 0 && unicode.IsMark(r):
			case (r == '\'' || r == '’') && len(word) > 0 && i+1 < len(runes) && unicode.IsLetter(runes[i+1]):
				r = '\''
			default:
				r = 0
			}
			if r == 0 {
				break
			}
			word = append(word, r)
		}
		if len(word) == 0 {
			i++
			continue
		}
		w := string(word)
		if len(word) < 2 || letters == 0 || len(w) > WordBytes || stops[w] {
			continue
		}
		words = append(words, w)
	}
	return words
}

// TestTextIsWhatItSays takes texts of all sorts of characters apart, in blocks, and compares with the slow way; now and
// then the words are forgotten, as streams do.
func TestTextIsWhatItSays(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	alphabet := []rune("aAbBzZ09'’ ,._-\u0301éÉßİǅ東٣\U0001d400")
	long := strings.Repeat("y", WordBytes-1)
	for _, list := range [][]string{nil, {"aa", "ab", "ba", "zz", "é0"}, {"aa", "ab", "a'a", long}} {
		stops := map[string]bool{}
		for _, s := range list {
			stops[s] = true
		}
		var ids IDs
		l := &Text{Words: &ids, Stops: stops}
		for block := range 300 {
			var docs []string
			for range 1 + rng.IntN(5) {
				var doc strings.Builder
				for range rng.IntN(12) {
					switch rng.IntN(8) {
					case 0: // around the longest word, and the longest that is remembered
						doc.WriteString(strings.Repeat("y",
							[]int{7, 8, 9, 15, 16, 17, WordBytes - 1, WordBytes, WordBytes + 1, 2*wordRoom +
								3}[rng.IntN(10)]))
					case 1:
						doc.WriteString([]string{"aa", "Ab", "the", "zz", "aab'c"}[rng.IntN(5)])
					default:
						for range rng.IntN(20) {
							doc.WriteRune(alphabet[rng.IntN(len(alphabet))])
						}
					}
					doc.WriteString([]string{" ", ", ", "-", ""}[rng.IntN(4)])
				}
				docs = append(docs, doc.String())
			}
			if block%17 == 16 {
				ids.Reset()
			}
			var p Piece
			l.Block = int32(block)
			if f := l.Parse([]byte(strings.Join(docs, "\n")+"\n"), &p); f != nil || len(p.Ends) != len(docs) {
				t.Fatal(f, len(p.Ends))
			}
			from := int64(0)
			for d, end := range p.Ends {
				var got []string
				for _, at := range p.Index[from:end] {
					got = append(got, string(ids.name(at)))
				}
				if want := plainWords(docs[d], stops); !slices.Equal(got, want) {
					t.Fatalf("%q: %q, not %q", docs[d], got, want)
				}
				from = end
			}
		}
	}
}

// TestFaultKeepsWordsAbove finds the documents and words before a fault, whether or not they fill the queue.
func TestFaultKeepsWordsAbove(t *testing.T) {
	t.Parallel()
	for words := range 2*wordsAtOnce + 2 {
		for _, bad := range []string{"\x00", "\xff"} {
			l, p := &Text{Words: &IDs{}}, Piece{}
			text := strings.Repeat("ab\n", words) + "cd " + bad + " and more letters than a word has\n"
			f := l.Parse([]byte(text), &p)
			if f == nil || f.At != 3*words+3 || len(p.Ends) != words || len(p.Index) != words+1 {
				t.Fatalf("%d documents before %q: fault %v, %d ends, %d words", words, bad, f, len(p.Ends),
					len(p.Index))
			}
		}
	}
}

// TestTextAllocatesNothing of words that it has met.
func TestTextAllocatesNothing(t *testing.T) {
	text := []byte("The quick brown fox jumps over extraordinarily-incomprehensible dogs, don't\n")
	l := &Text{Words: &IDs{}, Stops: map[string]bool{"the": true}}
	var p Piece
	parse := func() {
		p.Reset()
		if f := l.Parse(text, &p); f != nil {
			t.Fatal(f)
		}
	}
	parse()
	if n := testing.AllocsPerRun(20, parse); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
