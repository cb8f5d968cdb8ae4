package columns

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"bellows/data/internal/lines"
	"bellows/data/internal/stored"
)

// OfImportance is the Weight of Vowpal Wabbit text, whose lines have weights.
const OfImportance = "of importance"

// The names of formats for which the sentence says more than the name.
const (
	ShownLIBSVM = "LIBSVM"
	ShownLibFM  = "libFM"
	ShownCSV    = "CSV"
	ShownTSV    = "TSV"
)

// A Detection describes how an input was understood.
type Detection struct {
	Format    string // as shown: "LIBSVM", "libFM", "CSV", ...
	Separator string // "tab", "comma", "space", ... ; "" for LIBSVM and IDX
	IndexBase int    // LIBSVM and libFM
	HashBits  int    // Vowpal Wabbit
	Header    bool   // the first line names the columns
	// Label is the label's column: its name in quotes, or its number if there are no names; "" if labels have no
	// column.
	Label  string
	Choice string // how the label's column was chosen; "" if the user named it
	Time   string // the column of times, in the form of Label; "" if times were not wanted
	// Weight is the column of weights, in the form of Label, or OfImportance; "" if all rows have the same weight.
	Weight     string
	Dates      bool   // the column of times holds dates, else numbers
	Columns    string // ratings: which columns were used, as the sentence says it
	Files      int
	Rows       int
	Users      int           // ratings
	Items      int           // ratings
	Features   int           // examples
	Classes    int           // number of distinct labels if they are few whole numbers, else 0
	Numbers    bool          // labels are numbers to predict, not classes
	Words      int           // documents: size of the vocabulary
	Tokens     int64         // documents
	Stops      int           // text: number of stop words
	Pairs      bool          // text and Vowpal Wabbit: adjacent words, or names, also form pairs
	Rare       int           // text: words of a single document, dropped
	Common     int           // text: words of most documents, dropped
	Texts      int           // number of columns of text
	Weightless int           // number of rows of weight 0, which are left out
	Ignored    int           // number of columns left out
	Filled     int           // number of missing values replaced by the mean of their column
	Missing    int           // number of missing values, in columns of numbers and of text
	Named      []MissingWord // words in columns of text that stand for a missing value by default
	// Partitions lists the keys of folders called key=value in the inputs' paths that are not read as columns.
	Partitions []string
	Unknown    int64    // number of values of text without a level in their column
	Hashed     []string // columns of text with too many values to tell apart
	Singular   []string // columns of text with a value for at most two rows on average
	Constant   []string // columns with the same value in all rows, as flags name them
	Counting   []string // columns of numbers that count the rows
	Coarse     []string // columns with differences too small for 64-bit numbers of their size
	CoarseMost float64  // the largest part of its spread that one of these columns loses
	Dropped    int64    // sparse entries beyond the limit on features, tokens beyond the limit on words

	TimesFrom    float64 // subtracted from the times: a whole number
	TimesRounded bool    // some times are so far from TimesFrom that they lost their last digits

	FromCache    bool   // columns came from the cache
	CacheProblem string // why the columns could not be stored, or ""
}

// TimeText formats a time of the rows.
func (d *Detection) TimeText(at float64) string {
	whole, part := math.Modf(at)
	switch {
	case d.Dates:
		return time.Unix(int64(d.TimesFrom)+int64(whole), int64(part*1e9)).UTC().Format(time.RFC3339)
	case part == 0: // with all digits of a whole number
		return new(big.Float).SetPrec(128).Add(big.NewFloat(d.TimesFrom), big.NewFloat(whole)).Text('f', 0)
	}
	return strconv.FormatFloat(d.TimesFrom+at, 'f', -1, 64)
}

// A MissingWord is a word that stands for a missing value in a column of text.
type MissingWord struct {
	Column, Word string
	Rows         int
}

// argument quotes a word for a shell if it needs quotes.
func argument(word string) string {
	if strings.ContainsAny(word, `<>?#\`) {
		return "'" + word + "'"
	}
	return word
}

// CacheUnusable reports whether the cache could not store the columns for a reason that will not go away.
func (d Detection) CacheUnusable() bool {
	return d.CacheProblem != "" && !strings.HasPrefix(d.CacheProblem, stored.Changed)
}

// String returns the sentence for the screen, such as "100 000 ratings, 943 × 1 682, triples, tab" or "11 314 rows × 17
// 561 features, 20 classes, LIBSVM, base 1".
func (d Detection) String() string {
	var parts []string
	if d.Words > 0 {
		return d.documents()
	}
	switch {
	case d.Users > 0:
		parts = append(parts, lines.Counted(d.Rows, "rating"), lines.Grouped(d.Users)+" × "+lines.Grouped(d.Items))
	case d.Columns != "": // of a stream, which does not count users and items
		parts = append(parts, lines.Counted(d.Rows, "rating"))
	default:
		parts = append(parts, lines.Counted(d.Rows, "row")+" × "+lines.Counted(d.Features, "feature"))
	}
	switch {
	case d.Classes > 0 && d.Numbers:
		parts = append(parts, lines.Counted(d.Classes, "different value"))
	case d.Classes > 0:
		parts = append(parts, lines.Counted(d.Classes, "class"))
	}
	parts = append(parts, d.Format)
	switch {
	case d.Format == ShownLIBSVM || d.Format == ShownLibFM:
		parts = append(parts, "base "+strconv.Itoa(d.IndexBase))
	case d.HashBits > 0:
		parts = append(parts, lines.Counted(d.HashBits, "bit")+" of hash")
		if d.Pairs {
			parts = append(parts, "pairs of names")
		}
	case d.Separator != "":
		parts = append(parts, d.Separator)
	}
	parts = append(parts, d.columns()...)
	if d.Columns != "" {
		parts = append(parts, d.Columns)
	}
	if d.Files > 1 {
		parts = append(parts, lines.Counted(d.Files, "file"))
	}
	if d.Dropped > 0 {
		parts = append(parts, lines.Counted(int(d.Dropped), "value")+" of unknown features ignored")
	}
	return strings.Join(parts, ", ")
}

// columns describes how the columns of a table were understood.
func (d Detection) columns() (parts []string) {
	table := d.Format == ShownCSV || d.Format == ShownTSV
	switch {
	case d.Header:
		parts = append(parts, "header")
	case table:
		parts = append(parts, "no header")
	}
	switch {
	case d.Choice != "":
		parts = append(parts, fmt.Sprintf("label %s (%s; --label overrules)", d.Label, d.Choice))
	case d.Label != "":
		parts = append(parts, "label "+d.Label)
	}
	if d.Time != "" && d.Columns == "" { // ratings have it among their columns
		parts = append(parts, "time "+d.Time)
	}
	switch {
	case d.Weight == OfImportance:
		parts = append(parts, "weights "+d.Weight)
	case d.Weight != "":
		parts = append(parts, "weight "+d.Weight)
	}
	if d.Weightless > 0 {
		parts = append(parts, lines.Counted(d.Weightless, "row")+" of weight 0 left out")
	}
	if d.Texts > 0 {
		parts = append(parts, lines.Counted(d.Texts, "column")+" of text")
	}
	if d.Ignored > 0 {
		parts = append(parts, lines.Counted(d.Ignored, "column")+" left out")
	}
	if d.Filled > 0 {
		parts = append(parts, lines.Counted(d.Filled, "missing value")+" filled in by the mean")
	}
	if n := d.Missing - d.Filled; n > 0 {
		parts = append(parts, lines.Counted(n, "missing value")+" of text")
	}
	if d.Unknown > 0 {
		parts = append(parts, lines.Counted(int(d.Unknown), "value")+" of unknown categories ignored")
	}
	return parts
}

// wordsMost bounds the number of warnings about words for a missing value.
const wordsMost = 8

// Warnings returns a sentence, with its remedy, for each property of the columns that may be unintended.
func (d Detection) Warnings() (list []string) {
	for _, w := range d.Named[:min(len(d.Named), wordsMost)] {
		list = append(list, fmt.Sprintf("column %s has %s in %s, which counts as missing and is kept as a "+
			"category; --missing %s makes it one with the empty value, --missing '' an ordinary category",
			w.Column, lines.Quote([]byte(w.Word)), lines.Counted(w.Rows, "row"), argument(w.Word)))
	}
	for _, key := range d.Partitions {
		list = append(list, fmt.Sprintf("column %s is only in the names of folders, and is left out; write it "+
			"into the files to train on it", key))
	}
	for _, w := range []struct {
		columns   []string
		one, many string
	}{
		{d.Hashed, "has too many values to tell apart, which are hashed",
			"have too many values to tell apart, which are hashed"},
		{d.Singular, "differs in most rows; each of its values becomes a feature that tells nothing about other rows",
			"differ in most rows; each of their values becomes a feature that tells nothing about other rows"},
		{d.Counting, "counts the rows, and is taken for a number", "count the rows, and are taken for numbers"},
		{d.Constant, "is the same in all rows, and says nothing", "are the same in all rows, and say nothing"},
	} {
		switch n := len(w.columns); {
		case n == 1:
			list = append(list, fmt.Sprintf("column %s %s; leave it out with --ignore %s", w.columns[0], w.one,
				w.columns[0]))
		case n > 1:
			examples, flag := ignoreFlag(w.columns)
			list = append(list, fmt.Sprintf("%s columns %s%s; leave them out with %s", lines.Grouped(n), w.many,
				examples, flag))
		}
	}
	if d.TimesRounded {
		list = append(list, fmt.Sprintf("%s: some times are rounded: they are too far from that of the first row "+
			"for 64-bit numbers to hold their last digits; if rows are less than a microsecond apart, sort them "+
			"by time and use --holdout last", d.Time))
	}
	if len(d.Coarse) > 0 {
		list = append(list, fmt.Sprintf("%s: up to %.2g of the spread of the values is lost, since they differ by "+
			"less than 64-bit numbers of their size hold; subtract what they have in common in the file",
			strings.Join(d.Coarse[:min(len(d.Coarse), 8)], ", "), d.CoarseMost))
	}
	return list
}

// Limits on the names in a message. Up to ignoreMost columns are listed so that the flag can be copied. Of more, the
// first ignoreSample are given as examples.
const (
	ignoreMost   = 20
	ignoreSample = 3
)

// ignoreFlag returns the flag that leaves columns out. If they are too many to list, the flag has no names, and
// examples has the first few.
func ignoreFlag(names []string) (examples, flag string) {
	if len(names) <= ignoreMost {
		return "", "--ignore " + strings.Join(names, ",")
	}
	return fmt.Sprintf(": %s and %s more", strings.Join(names[:ignoreSample], ", "),
		lines.Grouped(len(names)-ignoreSample)), "--ignore COLUMNS"
}

func (d Detection) documents() string {
	parts := []string{lines.Counted(d.Rows, "document") + " × " + lines.Counted(d.Words, "word"),
		lines.Counted(int(d.Tokens), "token"), d.Format}
	if d.Files > 1 {
		parts = append(parts, lines.Counted(d.Files, "file"))
	}
	if d.Pairs {
		parts = append(parts, "pairs of words")
	}
	if d.Stops > 0 {
		parts = append(parts, lines.Counted(d.Stops, "stop word"))
	}
	if d.Rare+d.Common > 0 {
		parts = append(parts, fmt.Sprintf("%s rare and %s common words left out", lines.Grouped(d.Rare),
			lines.Grouped(d.Common)))
	}
	if d.Dropped > 0 {
		parts = append(parts, lines.Counted(int(d.Dropped), "token")+" of unknown words ignored")
	}
	return strings.Join(parts, ", ")
}
