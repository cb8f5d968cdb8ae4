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

// OfImportance is the Weight of Vowpal Wabbit text, which has weights in its lines.
const OfImportance = "of importance"

// Formats as they are shown, of which the sentence says more than the name.
const (
	ShownLIBSVM = "LIBSVM"
	ShownLibFM  = "libFM"
	ShownCSV    = "CSV"
	ShownTSV    = "TSV"
)

// Detection is how an input was understood.
type Detection struct {
	Format     string // as it is shown: "LIBSVM", "libFM", "CSV", ...
	Separator  string // "tab", "comma", "space", ... ; "" for LIBSVM and IDX
	IndexBase  int    // LIBSVM and libFM
	HashBits   int    // Vowpal Wabbit
	Header     bool   // the first line names the columns
	Label      string // the label's column: its name in quotes, or its number where there are no names; "" where labels have no column
	Choice     string // how the label's column was chosen, when nobody named it; "" otherwise
	Time       string // like Label, the column of times; "" where nobody asked for them
	Weight     string // the column of weights, likewise, or OfImportance; "" where rows count alike
	Dates      bool   // it holds dates, else numbers
	Columns    string // ratings: which columns were taken, as the sentence has it
	Files      int
	Rows       int
	Users      int           // ratings
	Items      int           // ratings
	Features   int           // examples
	Classes    int           // distinct labels when all are whole numbers and few, else 0
	Numbers    bool          // labels are numbers to predict: the distinct ones are no classes
	Words      int           // documents: size of the vocabulary
	Tokens     int64         // documents
	Stops      int           // text: words on the list of those that are left out
	Pairs      bool          // text and Vowpal Wabbit: two words, or names, that follow each other are one, too
	Rare       int           // text: words of a single document, left out
	Common     int           // text: words of most documents, left out
	Texts      int           // columns of text
	Weightless int           // rows of weight 0, which are left out
	Ignored    int           // columns that were left out
	Filled     int           // missing values that became the mean of their column
	Missing    int           // values that are missing: those that were filled in, and those of columns of text
	Named      []MissingWord // words of columns of text that stand for a missing value, by default
	Partitions []string      // keys of folders called key=value that the inputs lie in, which are not read as columns
	Unknown    int64         // values of text that are not among the columns' levels, see Options.As
	Hashed     []string      // columns of text with too many values to tell apart
	Singular   []string      // columns of text with a value for every other row, or more
	Constant   []string      // columns that are the same in all rows, as flags name them
	Counting   []string      // columns of numbers that count the rows
	Coarse     []string      // columns with differences that 64-bit numbers of their size cannot hold
	CoarseMost float64       // the largest part of its spread that one of them loses
	Dropped    int64         // sparse entries beyond Options.Features, tokens beyond Options.Words

	TimesFrom    float64 // times are counted from it: a whole number
	TimesRounded bool    // some times are so far from it that they lost their last digits

	FromCache    bool   // columns came from the cache
	CacheProblem string // why the columns could not be stored, else ""
}

// TimeText returns a time of the rows as text.
func (d *Detection) TimeText(at float64) string {
	whole, part := math.Modf(at)
	switch {
	case d.Dates:
		return time.Unix(int64(d.TimesFrom)+int64(whole), int64(part*1e9)).UTC().Format(time.RFC3339)
	case part == 0: // all digits of a whole number
		return new(big.Float).SetPrec(128).Add(big.NewFloat(d.TimesFrom), big.NewFloat(whole)).Text('f', 0)
	}
	return strconv.FormatFloat(d.TimesFrom+at, 'f', -1, 64)
}

// MissingWord is a word that stands for a missing value in a column of text.
type MissingWord struct {
	Column, Word string
	Rows         int
}

// argument quotes a word for a shell where it needs quotes.
func argument(word string) string {
	if strings.ContainsAny(word, `<>?#\`) {
		return "'" + word + "'"
	}
	return word
}

// CacheUnusable says whether the cache could not take the columns, and will not the next time.
func (d Detection) CacheUnusable() bool {
	return d.CacheProblem != "" && !strings.HasPrefix(d.CacheProblem, stored.Changed)
}

// String is the sentence for the screen, such as
// "100 000 ratings, 943 × 1 682, triples, tab" or
// "11 314 rows × 17 561 features, 20 classes, LIBSVM, base 1".
func (d Detection) String() string {
	var parts []string
	if d.Words > 0 {
		return d.documents()
	}
	switch {
	case d.Users > 0:
		parts = append(parts, lines.Counted(d.Rows, "rating"), lines.Grouped(d.Users)+" × "+lines.Grouped(d.Items))
	case d.Columns != "": // of a stream, which knows no longer whom it has met
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

// columns says how the columns of a table were understood.
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

// wordsMost bounds the words for a missing value that are warned of.
const wordsMost = 8

// Warnings are what about the columns may not be as meant, a sentence each with the remedy.
func (d Detection) Warnings() (list []string) {
	for _, w := range d.Named[:min(len(d.Named), wordsMost)] {
		list = append(list, fmt.Sprintf("column %s has %s in %s, which counts as missing and is kept as a category; --missing %s makes it one with the empty value, --missing '' an ordinary category",
			w.Column, lines.Quoted([]byte(w.Word)), lines.Counted(w.Rows, "row"), argument(w.Word)))
	}
	for _, key := range d.Partitions {
		list = append(list, fmt.Sprintf("column %s is only in the names of folders, and is left out; write it into the files to train on it", key))
	}
	for _, w := range []struct {
		columns   []string
		one, many string
	}{
		{d.Hashed, "has too many values to tell apart, which are hashed", "have too many values to tell apart, which are hashed"},
		{d.Singular, "has a value of its own in most rows, each of which becomes a feature that says nothing of others", "have a value of their own in most rows, each of which becomes a feature that says nothing of others"},
		{d.Counting, "counts the rows, and is taken for a number", "count the rows, and are taken for numbers"},
		{d.Constant, "is the same in all rows, and says nothing", "are the same in all rows, and say nothing"},
	} {
		switch n := len(w.columns); {
		case n == 1:
			list = append(list, fmt.Sprintf("column %s %s; leave it out with --ignore %s", w.columns[0], w.one, w.columns[0]))
		case n > 1:
			examples, flag := ignoring(w.columns)
			list = append(list, fmt.Sprintf("%s columns %s%s; leave them out with %s", lines.Grouped(n), w.many, examples, flag))
		}
	}
	if d.TimesRounded {
		list = append(list, fmt.Sprintf("%s: some times are rounded: they are too far from that of the first row for 64-bit numbers to hold their last digits; if rows are less than a microsecond apart, sort them by time and use --holdout last", d.Time))
	}
	if len(d.Coarse) > 0 {
		list = append(list, fmt.Sprintf("%s: up to %.2g of the spread of the values is lost, since they differ by less than 64-bit numbers of their size hold; subtract what they have in common in the file", strings.Join(d.Coarse[:min(len(d.Coarse), 8)], ", "), d.CoarseMost))
	}
	return list
}

// Limits on the names in a message: up to ignoreMost columns are listed so that the flag can be copied; of more, the
// first few are examples.
const (
	ignoreMost   = 20
	ignoreSample = 3
)

// ignoring returns the flag that leaves columns out. Where they are too many to list, it has no names, and examples
// are the first few.
func ignoring(names []string) (examples, flag string) {
	if len(names) <= ignoreMost {
		return "", "--ignore " + strings.Join(names, ",")
	}
	return fmt.Sprintf(": %s and %s more", strings.Join(names[:ignoreSample], ", "), lines.Grouped(len(names)-ignoreSample)), "--ignore COLUMNS"
}

func (d Detection) documents() string {
	parts := []string{lines.Counted(d.Rows, "document") + " × " + lines.Counted(d.Words, "word"), lines.Counted(int(d.Tokens), "token"), d.Format}
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
		parts = append(parts, fmt.Sprintf("%s rare and %s common words left out", lines.Grouped(d.Rare), lines.Grouped(d.Common)))
	}
	if d.Dropped > 0 {
		parts = append(parts, lines.Counted(int(d.Dropped), "token")+" of unknown words ignored")
	}
	return strings.Join(parts, ", ")
}
