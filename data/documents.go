package data

import (
	"bytes"
	"fmt"
	"strconv"

	"bellows/data/internal/bags"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// A DocumentSet holds documents as bags of words: document d has Count[i] tokens of the word Vocab[Word[i]] for i from
// Offset[d] to Offset[d+1]-1. Words ascend within a document.
type DocumentSet struct {
	Offset []int64 // documents + 1
	Word   []int32 // index into Vocab
	Count  []int32 // at least 1
	Vocab  []string
}

// Rows returns the number of documents, empty ones included.
func (s *DocumentSet) Rows() int { return max(0, len(s.Offset)-1) }

// Doc returns one document's words and their counts.
func (s *DocumentSet) Doc(d int) (word, count []int32) {
	lo, hi := s.Offset[d], s.Offset[d+1]
	return s.Word[lo:hi], s.Count[lo:hi]
}

// Tokens returns the number of tokens in all documents.
func (s *DocumentSet) Tokens() int64 {
	n := int64(0)
	for _, c := range s.Count {
		n += int64(c)
	}
	return n
}

// An Index maps the names of a list to their positions.
type Index = bags.Index

// NewIndex returns the index of a list of names.
func NewIndex(names []string) Index { return bags.NewIndex(names) }

// WordNumbers returns the position in to of each word in from, or -1 if to lacks it.
func WordNumbers(from, to []string) []int32 { return bags.Numbers(from, to) }

// beginDocuments makes or checks the layout of an input of documents from its first block.
func (r *reader) beginDocuments(n int, j *job) error {
	// beginDocuments makes the layout of the documents from the first block of the first input. For further inputs it
	// checks that they agree with it.
	d := &layout.Detector{Kind: r.kind, Opt: r.opt.layout(), In: r.ins[n]}
	line := bytes.TrimSuffix(j.text[:bytes.IndexByte(j.text, '\n')], []byte("\r"))
	d.Sample(j.text, 0, r.opt.sampleBytes()-(len(j.buf)-len(j.text)))
	next, f := d.Documents(line)
	if f == nil && (next.Format == Text || next.Words) && r.opt.Vocab != "" {
		f = &lines.Fault{Width: 1, What: "the documents are text, which has its words in it", How: "leave out --vocab, which is for bags of words"}
	}
	if f == nil {
		f = d.Texts(next)
	}
	if f == nil && r.layout != nil {
		f = r.layout.Agree(next, r.ins[0].Shown())
	}
	rest := j.text
	if f == nil && next.Format == Docword {
		j.bag, rest, f = lines.ParseBagHeader(j.text, r.opt.Limits.Rows, int64(r.opt.Limits.Features))
		if f == nil && n > 0 && r.bags[0].Words != j.bag.Words {
			f = &lines.Fault{Width: 1, What: fmt.Sprintf("the bag has %s, %s has %d", lines.Plural(j.bag.Words, "word"), r.ins[0].Shown(), r.bags[0].Words), How: "read bags of one vocabulary together"}
		}
		r.bags = append(r.bags, j.bag)
		j.part, j.promised = bags.Part{End: j.bag.Docs}, &j.bag.Entries
	}
	if f != nil {
		return lines.Locate(r.ins[n].Shown(), j.text, f)
	}
	if r.layout == nil { // workers read the layout from the first block on
		r.layout = next
	}
	j.skipped = bytes.Count(j.text[:len(j.text)-len(rest)], []byte("\n"))
	j.text = rest
	return nil
}

// documents joins the pieces of documents.
func (r *reader) documents(set *Set) (err error) {
	s, d := &DocumentSet{}, &set.Detected
	var b *bags.Bags
	if r.opt.Words != nil && r.words == nil {
		r.words = bags.NewIndex(r.opt.Words)
	}
	counted := r.layout.Format == Docword || r.layout.Format == LDAC
	switch {
	case counted:
		var words int
		b, words = r.countedDocuments()
		switch s.Vocab = r.known; {
		case s.Vocab != nil:
		case r.layout.Format == Docword:
			s.Vocab, err = r.vocabulary(r.bags[0].Words, true)
		default:
			s.Vocab, err = r.vocabulary(words, false)
		}
		if err != nil {
			return err
		}
		switch {
		case r.numbers != nil:
			d.Dropped, s.Vocab = b.Renumber(r.numbers), r.opt.Words
		case r.opt.Words != nil:
			d.Dropped, s.Vocab = b.Renumber(r.words.Numbers(s.Vocab)), r.opt.Words
		}
	case r.opt.Words != nil:
		b, d.Dropped = r.text().Known(r.words)
		s.Vocab = r.opt.Words
	default:
		b, s.Vocab, d.Rare, d.Common = r.text().Pruned()
	}
	s.Offset, s.Word, s.Count = b.Offset, b.Word, b.Count
	if len(s.Word) == 0 && !r.opt.Unlabelled {
		return r.noWordsError(d)
	}
	set.Documents = s
	d.Stops, d.Pairs = len(r.layout.Stops), r.layout.Ngrams == layout.Pairs
	d.Rows, d.Words, d.Tokens = s.Rows(), len(s.Vocab), s.Tokens()
	return nil
}

// noWordsError returns the error for documents without any word.
func (r *reader) noWordsError(d *Detection) error {
	what, how := "no document has a usable word", "give documents with words; in text, words have a letter and 2 characters or more"
	switch {
	case d.Common+d.Rare > 0:
		what = fmt.Sprintf("all words were left out: %d that are in most documents, and %d that are in a single one", d.Common, d.Rare)
		how = "give documents that differ and share words, or your own choice of words as docword"
	case d.Dropped > 0:
		what, how = "the model knows none of the words", "give documents of the language and kind that it was trained on"
	}
	return &Error{File: r.ins[0].Shown(), What: what, How: how}
}

// text joins the documents of a text.
func (r *reader) text() *bags.Text {
	tokens := 0
	for _, p := range r.pieces {
		tokens += len(p.Index)
	}
	t, tables := &bags.Text{Words: make([]int32, 0, tokens), Pairs: r.layout.Ngrams == layout.Pairs}, [][]int32(nil)
	t.Names, tables = r.merge(func(w *worker) *lines.IDs { return &w.Items })
	for _, p := range r.pieces {
		// the caller reports the error
		if r.opt.Meter.Add(1) != nil {
			break // the reader reports it
		}
		translate(p.Index, p.Index, tables[p.worker])
		t.Append(p.Index, p.Ends)
		*p = piece{}
	}
	return t
}

// countedDocuments joins documents with sorted and counted words. words is one more than the largest word.
// before each piece
func (r *reader) countedDocuments() (b *bags.Bags, words int) {
	entries, docs := make([]int, len(r.pieces)), make([]int, len(r.pieces)) // before each piece
	n, rows := 0, 0
	for i, p := range r.pieces {
		entries[i], docs[i] = n, rows
		n, rows = n+len(p.Index), rows+p.rows
		words = max(words, int(p.High)+1)
	}
	b = &bags.Bags{Offset: make([]int64, rows+1), Word: make([]int32, n), Count: make([]int32, n)}
	r.eachPiece(func(i int, p *piece) {
		end := int64(0)
		for d := range p.rows {
			if d < len(p.Ends) {
				end = p.Ends[d]
			}
			b.Offset[docs[i]+1+d] = int64(entries[i]) + end
		}
		copy(b.Word[entries[i]:], p.Index)
		count := b.Count[entries[i]:][:len(p.Value)]
		for k, v := range p.Value {
			count[k] = int32(v)
		}
		*p = piece{}
	})
	return b, words
}

// duplicateWordError returns the error for a document that has a word twice. It names the second line of the two if the
// input can be read again.
func (r *reader) duplicateWordError(which int, at *bags.Twice) error {
	if r.ins[which].Path == "" {
		return bags.DuplicateError(r.ins[which].Shown(), nil, at)
	}
	s, err := source.Open(r.ctx, r.ins[which], r.opt.source())
	if err != nil {
		return bags.DuplicateError(r.ins[which].Shown(), nil, at)
	}
	defer s.Close()
	return bags.DuplicateError(r.ins[which].Shown(), s, at)
}

// vocabulary returns a bag's words: from the file that the option names, or from a neighbouring file found by its
// name. Without either, words are named by their numbers. If exact is set, the bag has count words; otherwise the
// vocabulary may have more, which no document uses.
func (r *reader) vocabulary(count int, exact bool) ([]string, error) {
	in, found, err := r.vocabFile()
	if err != nil {
		return nil, err
	}
	if found {
		return r.readVocabulary(in, count, exact)
	}
	if known := r.opt.Words; known != nil {
		if count > len(known) {
			return nil, &Error{File: r.ins[0].Shown(), What: fmt.Sprintf("it has no vocabulary, and %d words where the model has %d", count, len(known)),
				How: "put its vocabulary next to it as " + bags.VocabularyName(r.layout.Format == LDAC) +
					", or name it with --vocab"}
		}
		return known[:count], nil
	}
	names := make([]string, count)
	for i := range names {
		names[i] = strconv.Itoa(i)
		if exact {
			names[i] = strconv.Itoa(i + 1)
		}
	}
	return names, nil
}

// vocabularyFound reports whether the bag has a vocabulary file.
func (r *reader) vocabularyFound() bool {
	_, found, err := r.vocabFile()
	return found || err != nil // vocabulary returns the error
}

func (r *reader) vocabFile() (in source.Input, found bool, err error) {
	if r.opt.Vocab != "" {
		in, err = r.opt.places.Stat(r.opt.Vocab)
		return in, err == nil, err
	}
	in, found = r.opt.places.StatAny(bags.VocabularyPaths(r.ins[0].Path, r.opt.Vocab))
	return in, found && in.Path != r.ins[0].Path, nil
}

func (r *reader) readVocabulary(in source.Input, count int, exact bool) ([]string, error) {
	s, err := source.Open(r.ctx, in, r.opt.source())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	words, defect, err := bags.Vocabulary(s, count, exact, r.ins[0].Shown())
	if defect != nil {
		return nil, &Error{File: in.Shown(), Line: defect.Line, Column: min(1, defect.Line), What: defect.What, How: defect.How}
	}
	return words, err
}
