// Package layout settles how the rows of an input are to be read: by what the caller wants, by the input's name, by its first lines, and by how the data of a model was read.
//
// The caller's duties, in order:
//
//  1. Make a Detector for each input, with Options; give it the first lines of a text with FirstRecord and Sample.
//  2. Begin a text of ratings or examples, or ask Documents and then Texts of one of documents, or Frames of a file that keeps columns apart. The first
//     input makes the Layout, and each further one must Agree with it.
//  3. Make a Parser for each goroutine, with Numbers of its own.
//
// The package refuses to guess: what a first line leaves open is a *lines.Fault that says which option settles it. It opens nothing, and sees no line behind
// the first SampleBytes.
package layout

import (
	"bytes"
	"fmt"
	"slices"

	"bellows/data/internal/columns"
	"bellows/data/internal/lines"
	"bellows/data/internal/missing"
)

// ClassesMost bounds the distinct whole labels that are called classes.
const ClassesMost = 4096

// Layout is how the lines of an input are to be read. The first file makes it;
// the first line of every further file must make the same one.
type Layout struct {
	Format    Format
	Separator string
	Columns   int // fields a line; 0 where lines differ
	Label     int // column of the label or the rating, -1 when there is none
	User      int // columns of ratings
	Item      int
	Roles     []lines.Role // of all columns of ratings; nil where they stand as usual
	Header    bool
	Names     []string        // of all columns, from the header
	Table     *columns.Choice // of CSV and TSV, else nil
	Times     *lines.Times    // nil: nobody asks

	WordLabels bool // labels are text

	Missing *missing.Rule  // which fields stand for a value that is missing
	Origin  float64        // what labels that are numbers, or ratings, are counted from
	Origins []lines.Origin // of sparse features, by index as it is written, ascending
	Coarse  []Coarse       // what loses digits all the same

	Bits       int      // Vowpal Wabbit: of the hash
	Namespaces []string // that are left out
	Pairs      []string // of namespaces

	Keys  []string // JSON lines: the columns
	Used  []bool   // of them
	Order []int    // of them, as the parser of ratings has its fields; nil: as they stand
	Words bool     // the key is the text of documents

	Stops  []string // text: words that are left out, sorted
	Ngrams int      // text and Vowpal Wabbit, as Options.Ngrams
}

// HeaderAgain says of a faulty line that repeats the header what it is.
func (p *Layout) HeaderAgain(text []byte, f *lines.Fault) {
	at := min(f.At, len(text)-1)
	line := text[bytes.LastIndexByte(text[:at], '\n')+1:]
	line = bytes.TrimSuffix(line[:bytes.IndexByte(line, '\n')], []byte("\r"))
	if p.Names == nil || p.Keys != nil {
		return
	}
	if fields, bad := lines.Fields(line, p.Separator); bad == nil && slices.Equal(p.Names, columns.NamesOf(fields)) {
		f.What, f.How = "the header stands here again", "remove this line; only the first of each file may name the columns"
	}
}

// Agree compares the layout of a further file with that of the first.
func (p *Layout) Agree(next *Layout, first string) *lines.Fault {
	how := "read files of different kinds in separate runs"
	switch {
	case p.Format != next.Format:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("the file is %s, %s is %s", next.Format.Shown(), first, p.Format.Shown()), How: how}
	case p.Separator != next.Separator:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("fields are separated by %s, in %s by %s", lines.SeparatorName(next.Separator), first, lines.SeparatorName(p.Separator)), How: how}
	case p.Columns != next.Columns:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("lines have %s, in %s %d", lines.Plural(next.Columns, "field"), first, p.Columns), How: how}
	case p.User != next.User || p.Item != next.Item || p.Format == Triples && p.Label != next.Label:
		return &lines.Fault{Width: 1, What: "the user, the item or the rating stand in other columns than in " + first, How: how}
	case p.Label != next.Label:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("the label is column %d, in %s column %d", next.Label+1, first, p.Label+1), How: how}
	case next.Header && p.Header && !slices.Equal(p.Names, next.Names):
		return &lines.Fault{Width: 1, What: "the header differs from that of " + first, How: how}
	case next.Header && !p.Header:
		return &lines.Fault{Width: 1, What: "the file has a header, " + first + " has none", How: how}
	}
	return nil
}

// Header says whether the first line of each CSV, TSV or triples file names
// the columns.
type Header uint8

// The values of Header.
const (
	HeaderAuto Header = iota // the first line is a header when it has words above numbers, see docs/3-formats.md
	HeaderYes
	HeaderNo
)

// Column is the column at position i, from 0.
func (p *Layout) Column(i int) *Column {
	c := &Column{Number: i + 1}
	if p.Names != nil {
		c.Name = p.Names[i]
	}
	return c
}

// Kind says what the rows of an input are.
type Kind uint8

// The kinds of input.
const (
	Ratings   Kind = iota + 1 // user, item, rating
	Examples                  // label, features
	Documents                 // words and their counts
)

// String returns "ratings", "examples" or "documents".
func (k Kind) String() string {
	if k < Ratings || k > Documents {
		return "unknown kind"
	}
	return [...]string{Ratings: "ratings", Examples: "examples", Documents: "documents"}[k]
}
