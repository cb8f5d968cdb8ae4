package data

import (
	"io"
	"os"

	"bellows/data/internal/columns"
	"bellows/data/internal/images"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
	"bellows/progress"
)

// Error is a defect of an input: what is wrong, where, and what to do. It is
// the only kind of error that Read returns for bad data; errors.Is sees
// through it to fs.ErrNotExist and to system errors.
type Error = lines.Error

// Header says whether the first line of each CSV, TSV or triples file names the columns.
type Header = layout.Header

// The values of Header.
const (
	HeaderAuto = layout.HeaderAuto // the first line is a header when it has words above numbers, see docs/3-formats.md
	HeaderYes  = layout.HeaderYes
	HeaderNo   = layout.HeaderNo
)

// Options overrule what Read would detect. The zero value detects everything.
type Options struct {
	Format    Format // "" detects
	Label     string // CSV and TSV: name or number (from 1) of the label's column; IDX: path of the label file; "" is a column called label, target, class or y, else the first; or the file found by name
	User      string // ratings: name or number (from 1) of the users' column; "" finds it by its name, else it is the first
	Item      string // likewise, else the second
	Rating    string // likewise, else the third
	Timed     bool   // ratings and tables: the set's Time is wanted
	Time      string // its column, by name or number; "" finds it by its name, or where ratings without names have it
	TimeKept  bool   // tables: it is a feature, too, which else it is only when Categorical has it
	Weight    string // CSV, TSV and JSON lines: name or number of the column that says how much each row counts; "" is none, or that of a model. Vowpal Wabbit has weights in its lines
	Separator string // one character, "::", "tab", "space" (runs of blanks), "comma", "semicolon"; "" detects
	Header    Header
	Ignore    []string // tables: columns to leave out, by name or number; Vowpal Wabbit: namespaces
	Quadratic []string // Vowpal Wabbit: pairs of letters with which namespaces begin, whose features make features together
	HashBits  int      // Vowpal Wabbit: bits of the hash that features get; 0 is 18
	IndexBase string   // LIBSVM: "0" or "1"; "" is 0 when the index 0 occurs anywhere or the format is libFM, else 1

	// Categorical names columns of a CSV or TSV file that are text whatever they hold; the label's may be among them.
	Categorical []string

	// Features fixes the width of the rows; 0 takes it from the input. Sparse
	// entries beyond it are dropped and counted in Detection.Dropped; a dense
	// row of another width is an error.
	Features int

	// StopWords names the words that are left out of text: English, or a file of them, one a line. Ngrams is 2 where each two words that follow each other among
	// the others are a word, too, joined by "_"; 0 and 1 take words alone. Of Vowpal Wabbit it is 2 where each two features that follow each other in a namespace make another. Of a model As says both.
	StopWords string
	Ngrams    int

	// Missing lists the words that stand for a missing value, in addition to the empty field: of a label, an id, a category or a number. nil is the rule of As, else the
	// default, DefaultMissing. In a column of numbers those of the default always do.
	Missing []string

	Text string // documents in JSON lines: the key of their text; "" finds it by its name

	Vocab string // bags of words: path of the vocabulary; "" is the file found by name

	// Words fixes the vocabulary of documents; nil takes it from the input. Tokens of other words are
	// left out and counted in Detection.Dropped.
	Words []string

	// Unlabelled allows rows without a label, as in files to predict: ratings
	// of two fields, tables with exactly Features columns, images without
	// labels. Their labels are 0.
	Unlabelled bool

	// Numbers says that labels are numbers to predict, and no classes: how they are written does not matter.
	Numbers bool

	// As is how the data of a model was read, nil when nothing is known: what the other options leave open is read likewise.
	As *Reading
	// Complete refuses JSON objects that lack a key which all rows of As had, and those with keys that As does not know, in whatever line. Without it they are as cells of a CSV file that are
	// empty or left out.
	Complete bool
	// Grow takes columns and values of text that As does not know, behind those that it knows: for data to train a model further. What As knows
	// stays, whether the data has it or not; columns are refused that the data lacks.
	Grow bool

	Cache      string // folder for parsed columns; "" stores nothing
	CacheBytes int64  // what the cache may hold; 0 is cache.Most of the folder
	Mapped     bool   // columns that were parsed are given back once they are stored, and are those that lie in the cache

	Workers int            // parsing goroutines; 0 is one a processor
	Stores  source.Schemes // what URIs of inputs may begin with beside file, such as s3; vocabularies and labels may lie there, too
	Stdin   io.Reader      // what "-" reads; nil is os.Stdin
	Limits  Limits
	// Meter is told what is read, stored and joined, and ends the read with its context; nil: nobody waits.
	Meter *progress.Meter

	places     *source.Places
	paths      []string                  // of all inputs
	folders    map[string]*images.Folder // inputs that are folders, by their paths
	stops      []string                  // of StopWords
	blockBytes int                       // text parsed at a time; 0 is the constant, tests use less
}

// Limits bound what an input may ask for. Zero values mean the defaults.
type Limits struct {
	LineBytes   int   // longest line; default 16 MiB
	Features    int   // widest row, largest vocabulary; default 1<<27
	Rows        int64 // most rows; default 1<<31 - 1
	OutputBytes int64 // one decompressed file; default 1 GiB + 256 times its compressed size
}

// Like returns the options for a test file of a training set: the same
// features, index base and column names, or the same vocabulary.
func (o Options) Like(train *Set) Options {
	o.Grow = false
	if o.As = train.Described(); o.As != nil && o.As.Features != nil { // it says what became of which column
		o.Label, o.Weight, o.Ignore, o.Categorical = "", "", nil, nil
	}
	if e := train.Examples; e != nil {
		o.Features = e.Features
		if o.As == nil && e.Sparse() || o.As != nil && o.As.IndexBase != nil {
			o.IndexBase = [2]string{"0", "1"}[e.IndexBase]
		}
	}
	if train.Documents != nil {
		o.Words, o.Vocab, o.StopWords, o.Ngrams = train.Documents.Vocab, "", "", 0
	}
	return o
}

// sampleBytes is how much of a file is looked at before it is parsed.
func (o *Options) sampleBytes() int { return min(layout.SampleBytes, o.Limits.LineBytes+1) }

func (l Limits) withDefaults() Limits {
	if l.LineBytes <= 0 {
		l.LineBytes = 16 << 20
	}
	if l.Features <= 0 {
		l.Features = 1 << 27
	}
	if l.Rows <= 0 {
		l.Rows = 1<<31 - 1
	}
	return l
}

// layout is the options by which layouts are made.
func (o *Options) layout() *layout.Options {
	return &layout.Options{Format: o.Format, Label: o.Label, User: o.User, Item: o.Item, Rating: o.Rating, Time: o.Time, Weight: o.Weight, Text: o.Text,
		Separator: o.Separator, IndexBase: o.IndexBase, Timed: o.Timed, TimeKept: o.TimeKept, Header: o.Header, Ignore: o.Ignore, Quadratic: o.Quadratic,
		Categorical: o.Categorical, HashBits: o.HashBits, Ngrams: o.Ngrams, Features: o.Features, FeaturesMost: o.Limits.Features, Stops: o.stops,
		Unlabelled: o.Unlabelled, Numbers: o.Numbers, As: o.As, Grow: o.Grow, Complete: o.Complete, Paths: o.paths, Missing: layout.Rule(layout.MissingWords(o.Missing, o.As))}
}

// leftOut notes the partitions of training data that its rows do not have. Data to train a model further gets no further ones.
func (o *Options) leftOut(set *Set) {
	if (o.As == nil || o.Grow) && set.Reading != nil {
		set.Detected.Partitions = columns.LeftOut(o.paths, set.Reading.Features, o.Ignore)
	}
}

// source is the options with which inputs are opened.
func (o *Options) source() *source.Options {
	return &source.Options{Stdin: o.stdin(), OutputBytes: o.Limits.OutputBytes, Meter: o.Meter}
}

func (o *Options) stdin() io.Reader {
	if o.Stdin != nil {
		return o.Stdin
	}
	return os.Stdin
}
