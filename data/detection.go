package data

import (
	"fmt"
	"strconv"
	"strings"
)

// Detection is how an input was understood.
type Detection struct {
	Format    string // as it is shown: "LIBSVM", "libFM", "CSV", ...
	Separator string // "tab", "comma", "space", ... ; "" for LIBSVM and IDX
	IndexBase int    // LIBSVM and libFM
	Header    bool   // the first line names the columns
	Label     string // the label's column, when it has a name
	Columns   string // ratings: which columns were taken, as the sentence has it
	Files     int
	Rows      int
	Users     int   // ratings
	Items     int   // ratings
	Features  int   // examples
	Classes   int   // distinct labels when all are whole numbers and few, else 0
	Words     int   // documents: size of the vocabulary
	Tokens    int64 // documents
	Rare      int   // text: words of a single document, left out
	Common    int   // text: words of most documents, left out
	Dropped   int64 // sparse entries beyond Options.Features, tokens beyond Options.Words

	FromCache    bool   // columns came from the cache
	CacheProblem string // why the columns could not be stored, else ""
}

// String is the sentence for the screen, such as
// "100 000 ratings, 943 × 1 682, triples, tab" or
// "11 314 rows × 17 561 features, 20 classes, LIBSVM, base 1".
func (d Detection) String() string {
	var parts []string
	if d.Words > 0 {
		return d.documents()
	}
	if d.Users > 0 {
		parts = append(parts, counted(d.Rows, "rating"), grouped(d.Users)+" × "+grouped(d.Items))
	} else {
		parts = append(parts, counted(d.Rows, "row")+" × "+counted(d.Features, "feature"))
	}
	if d.Classes > 0 {
		parts = append(parts, counted(d.Classes, "class"))
	}
	parts = append(parts, d.Format)
	switch {
	case d.Format == LIBSVM.shown() || d.Format == LibFM.shown():
		parts = append(parts, "base "+strconv.Itoa(d.IndexBase))
	case d.Separator != "":
		parts = append(parts, d.Separator)
	}
	if d.Header {
		parts = append(parts, "header")
	}
	if d.Label != "" {
		parts = append(parts, fmt.Sprintf("label %q", d.Label))
	}
	if d.Columns != "" {
		parts = append(parts, d.Columns)
	}
	if d.Files > 1 {
		parts = append(parts, counted(d.Files, "file"))
	}
	if d.Dropped > 0 {
		parts = append(parts, counted(int(d.Dropped), "value")+" of unknown features ignored")
	}
	return strings.Join(parts, ", ")
}

func (d Detection) documents() string {
	parts := []string{counted(d.Rows, "document") + " × " + counted(d.Words, "word"), counted(int(d.Tokens), "token"), d.Format}
	if d.Files > 1 {
		parts = append(parts, counted(d.Files, "file"))
	}
	if d.Rare+d.Common > 0 {
		parts = append(parts, fmt.Sprintf("%s rare and %s common words left out", grouped(d.Rare), grouped(d.Common)))
	}
	if d.Dropped > 0 {
		parts = append(parts, counted(int(d.Dropped), "token")+" of unknown words ignored")
	}
	return strings.Join(parts, ", ")
}

// counted is a count with its noun.
func counted(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// grouped writes n with a space before every third digit.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + " " + s[at:]
	}
	return s
}
