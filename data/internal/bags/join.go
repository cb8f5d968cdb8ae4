package bags

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"bellows/data/internal/lines"
)

// Join makes documents of the entries of a part, in the form of LDA-C: each one's words, ascending, as Index, their
// counts as Value, and their Ends. Documents after the last entry have no Ends. If a document has a word twice, only
// the documents before it are joined.
func Join(p *lines.Piece, part Part) (twice *Twice) {
	b := New(len(p.Label))
	for i, d := range p.User {
		b.Open(int(d) - part.First + 1)
		b.Put(p.Item[i], int32(p.Label[i]))
	}
	if err := b.Sort(); errors.As(err, &twice) {
		b.Cut(twice.Doc)
		twice.Doc += part.First
	}
	p.Reset()
	p.Index, p.Ends = append(p.Index, b.Word...), append(p.Ends, b.Offset[1:]...)
	for _, n := range b.Count {
		p.Value = append(p.Value, float32(n))
	}
	return twice
}

// headerLines is the number of lines before the entries of a bag of words.
const headerLines = 3

// DuplicateError returns the error for a document that has a word twice. It names the second of the two lines if again
// is not nil, which reads the input once more.
func DuplicateError(file string, again io.Reader, at *Twice) *lines.Error {
	e := &lines.Error{File: file, What: at.Error(), How: "add the counts of the two lines up on one"}
	if again == nil {
		return e
	}
	entry := [2]string{strconv.Itoa(at.Doc + 1), strconv.Itoa(at.Word + 1)}
	in, before := bufio.NewScanner(again), false
	for line := 1; in.Scan(); line++ {
		fields := strings.Fields(in.Text())
		if line <= headerLines || len(fields) < 2 || [2]string(fields[:2]) != entry {
			continue
		}
		if before {
			f := &lines.Fault{Width: len(in.Text()), What: e.What, How: e.How}
			e = lines.Locate(e.File, append(in.Bytes(), '\n'), f)
			e.Line = line
			return e
		}
		before = true
	}
	return e
}

// CountError returns the error for a bag with another number of entries than its header states.
func CountError(file string, got, entries int) *lines.Error {
	return &lines.Error{File: file, What: fmt.Sprintf("the header promises %d entries, there are %d", entries, got),
		How: "the file is truncated, or its header belongs to another file"}
}
