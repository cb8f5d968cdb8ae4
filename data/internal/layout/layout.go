// Package layout decides how to read the rows of an input: by the options, by the input's name, by its first lines, and
// by the Reading of a model.
//
// The caller's duties, in order:
//
//  1. Make a Detector for each input, with Options; give it the first lines of a text with FirstRecord and Sample.
//  2. Call Begin for a text of ratings or examples, Documents and then Texts for documents, or Frames for a columnar
//     file. The first input makes the Layout, and each further one must Agree with it.
//  3. Make a Parser for each goroutine, each with its own Numbers.
//
// The package refuses to guess: an ambiguous first line is a *lines.Fault that names the option which decides. It opens
// nothing, and sees no line after the first SampleBytes.
package layout

import (
	"bytes"
	"fmt"
	"slices"

	"bellows/data/internal/columns"
	"bellows/data/internal/lines"
	"bellows/data/internal/missing"
)

// ClassesMost bounds the distinct whole labels that count as classes.
const ClassesMost = 4096

// A Layout says how to read the lines of an input. The first file makes it. The first line of every further file must
// make the same one.
type Layout struct {
	Format    Format
	Separator string
	Columns   int // fields per line; 0 if lines differ
	Label     int // column of the label or the rating, -1 if there is none
	User      int // columns of ratings
	Item      int
	Roles     []lines.Role // of all columns of ratings; nil if they are in the usual order
	Header    bool
	Names     []string        // of all columns, from the header
	Table     *columns.Choice // of CSV and TSV, else nil
	Times     *lines.Times    // nil: times are not wanted

	WordLabels bool // labels are text

	Missing *missing.Rule  // which fields stand for a missing value
	Origin  float64        // what labels that are numbers, or ratings, are counted from
	Origins []lines.Origin // of sparse features, by index as written, ascending
	Coarse  []Coarse       // what loses digits in spite of its origin

	Bits       int      // Vowpal Wabbit: bits of the hash
	Namespaces []string // namespaces to leave out
	Pairs      []string // pairs of namespaces

	Keys  []string // JSON lines: the columns
	Used  []bool   // which of Keys are used
	Order []int    // Keys in the order of the fields of the parser of ratings; nil: as they are
	Words bool     // the key is the text of documents

	Stops  []string // text: stop words, sorted
	Ngrams int      // text and Vowpal Wabbit, like Options.Ngrams
}

// HeaderAgain replaces the fault of a line that repeats the header by one that says so.
func (p *Layout) HeaderAgain(text []byte, f *lines.Fault) {
	at := min(f.At, len(text)-1)
	line := text[bytes.LastIndexByte(text[:at], '\n')+1:]
	line = bytes.TrimSuffix(line[:bytes.IndexByte(line, '\n')], []byte("\r"))
	if p.Names == nil || p.Keys != nil {
		return
	}
	if fields, bad := lines.Fields(line, p.Separator); bad == nil && slices.Equal(p.Names, columns.NamesOf(fields)) {
		f.What, f.How = "the header is repeated here",
			"remove this line; only the first of each file may name the columns"
	}
}

// Agree checks the layout of a further file against that of the first.
func (p *Layout) Agree(next *Layout, first string) *lines.Fault {
	how := "read files of different kinds in separate runs"
	switch {
	case p.Format != next.Format:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("the file is %s, %s is %s", next.Format.Shown(), first,
			p.Format.Shown()), How: how}
	case p.Separator != next.Separator:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("fields are separated by %s, in %s by %s",
			lines.SeparatorName(next.Separator), first, lines.SeparatorName(p.Separator)), How: how}
	case p.Columns != next.Columns:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("lines have %s, in %s %d", lines.Plural(next.Columns, "field"),
			first, p.Columns), How: how}
	case p.User != next.User || p.Item != next.Item || p.Format == Triples && p.Label != next.Label:
		return &lines.Fault{Width: 1, What: "the user, the item or the rating stand in other columns than in " + first,
			How: how}
	case p.Label != next.Label:
		return &lines.Fault{Width: 1, What: fmt.Sprintf("the label is column %d, in %s column %d", next.Label+1, first,
			p.Label+1), How: how}
	case next.Header && p.Header && !slices.Equal(p.Names, next.Names):
		return &lines.Fault{Width: 1, What: "the header differs from that of " + first, How: how}
	case next.Header && !p.Header:
		return &lines.Fault{Width: 1, What: "the file has a header, " + first + " has none", How: how}
	}
	return nil
}

// Header says whether the first line of each CSV, TSV or triples file names the columns.
type Header uint8

// The values of Header.
const (
	HeaderAuto Header = iota // the first line is a header if it has words above numbers, see docs/3-formats.md
	HeaderYes
	HeaderNo
)

// Column returns the column at position i, from 0.
func (p *Layout) Column(i int) *Column {
	c := &Column{Number: i + 1}
	if p.Names != nil {
		c.Name = p.Names[i]
	}
	return c
}

// Kind is the kind of rows of an input.
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
