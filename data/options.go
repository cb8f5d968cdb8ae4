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

// An Error is a defect of an input: what is wrong, where, and what to do. It is the only kind of error that Read
// returns for bad data. errors.Is unwraps it to fs.ErrNotExist and to system errors.
type Error = lines.Error

// Header says whether the first line of each CSV, TSV or triples file names the columns.
type Header = layout.Header

// The values of Header.
const (
	// the first line is a header if it has words above numbers, see docs/3-formats.md
	HeaderAuto = layout.HeaderAuto
	HeaderYes  = layout.HeaderYes
	HeaderNo   = layout.HeaderNo
)

// Options override what Read would detect. The zero value detects everything.
type Options struct {
	Format Format // "" detects
	// Label is, for CSV and TSV, the name or number (from 1) of the label's column; "" is a column called label,
	// target, class or y, else the first. For IDX it is the path of the label file; "" is the file found by its name.
	Label  string
	User   string // ratings: name or number (from 1) of the users' column; "": by its name, else the first
	Item   string // ratings: name or number of the items' column; "": by its name, else the second
	Rating string // ratings: name or number of the ratings' column; "": by its name, else the third
	Timed  bool   // ratings and tables: fill in Set.Time
	// Time is the column of times, by name or number; "" is the one found by its name, or the usual place of times in
	// ratings without names.
	Time string
	// TimeKept makes the column of times of a table a feature. Otherwise it is one only if Categorical lists it.
	TimeKept bool
	// Weight is, for CSV, TSV and JSON lines, the name or number of the column with the weight of each row; "" is none,
	// or that of the model. Vowpal Wabbit has weights in its lines.
	Weight    string
	Separator string // one character, "::", "tab", "space" (runs of blanks), "comma", "semicolon"; "" detects
	Header    Header
	Ignore    []string // tables: columns to leave out, by name or number; Vowpal Wabbit: namespaces
	Quadratic []string // Vowpal Wabbit: pairs of initial letters of namespaces with features to combine
	HashBits  int      // Vowpal Wabbit: bits of the feature hash; 0 is 18
	IndexBase string   // LIBSVM: "0" or "1"; "": 0 if the index 0 occurs or the format is libFM, else 1

	// Categorical names columns of a CSV or TSV file that are text whatever they hold. The label's column may be among
	// them.
	Categorical []string

	// Features fixes the width of the rows; 0 takes it from the input. Sparse
	// entries beyond it are dropped and counted in Detection.Dropped; a dense
	// row of another width is an error.
	Features int

	// StopWords names the stop words, left out of text: English, or a file with one word per line. Ngrams 2 adds
	// each pair of adjacent remaining words as a word, joined by "_"; 0 and 1 take single words. For Vowpal Wabbit,
	// Ngrams 2 combines each two adjacent features of a namespace. A model's As settles both.
	StopWords string
	Ngrams    int

	// Missing lists what stands for a missing value, in addition to the empty field, in labels, ids,
	// categories and numbers. nil is the rule of As, else DefaultMissing. In a column of numbers the default words
	// always count as missing.
	Missing []string

	Text string // documents in JSON lines: the key of their text; "" finds it by its name

	Vocab string // bags of words: path of the vocabulary; "" is the file found by its name

	// Words fixes the vocabulary of documents; nil takes it from the input. Other tokens are left out and
	// counted in Detection.Dropped.
	Words []string

	// Unlabelled allows rows without a label, as in files to predict: ratings
	// of two fields, tables with exactly Features columns, images without
	// labels. Their labels are 0.
	Unlabelled bool

	// Numbers says that labels are numbers to predict, not classes. How they are written then does not matter.
	Numbers bool

	// As says how the data of a model was read; nil: unknown. It decides what the other options leave open.
	As *Reading
	// Complete refuses JSON objects that lack a key which all rows of As had, and objects with keys that As does not
	// know, on any line. Without Complete they are treated like cells of a CSV file that are empty or left out.
	Complete bool
	// Grow accepts columns and values of text that As does not know, and numbers them after the known ones. It is for
	// data to train a model further. What As knows stays, whether the data has it or not; a known column that the data
	// lacks is an error.
	Grow bool

	Cache      string // folder for parsed columns; "" stores nothing
	CacheBytes int64  // bytes that the cache may hold; 0 is cache.Most of the folder
	// Mapped frees parsed columns once they are stored, and returns the mapped columns of the cache instead.
	Mapped bool

	Workers int // parsing goroutines; 0 is one per processor
	// Stores are the schemes of URIs, besides file, that inputs, vocabularies and labels may have, such as s3.
	Stores source.Schemes
	Stdin  io.Reader // what "-" reads; nil is os.Stdin
	Limits Limits
	// Meter counts what is read, stored and joined, and ends the read when its context ends; nil: no progress is
	// reported.
	Meter *progress.Meter

	places     *source.Places
	paths      []string                  // of all inputs
	folders    map[string]*images.Folder // inputs that are folders, by their paths
	stops      []string                  // the words that StopWords names
	blockBytes int                       // text parsed at a time; 0 is the constant, tests use less
}

// Limits bound what an input may ask for. A zero value means the default.
type Limits struct {
	LineBytes   int   // longest line; default 16 MiB
	Features    int   // widest row, largest vocabulary; default 1<<27
	Rows        int64 // most rows; default 1<<31 - 1
	OutputBytes int64 // one decompressed file; default 1 GiB + 256 times its compressed size
}

// ForTest returns the options to read a test file of a training set: the same features, index base and column names, or
// the same vocabulary.
func (o Options) ForTest(train *Set) Options {
	o.Grow = false
	if o.As = train.Described(); o.As != nil && o.As.Features != nil { // it has the role of each column
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

// sampleBytes returns the number of bytes of a file that are sampled before it is parsed.
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

// layout returns the options that decide the layout.
func (o *Options) layout() *layout.Options {
	return &layout.Options{Format: o.Format, Label: o.Label, User: o.User, Item: o.Item, Rating: o.Rating, Time: o.Time, Weight: o.Weight, Text: o.Text,
		Separator: o.Separator, IndexBase: o.IndexBase, Timed: o.Timed, TimeKept: o.TimeKept, Header: o.Header,
		Ignore: o.Ignore, Quadratic: o.Quadratic,
		Categorical: o.Categorical, HashBits: o.HashBits, Ngrams: o.Ngrams, Features: o.Features,
		FeaturesMost: o.Limits.Features, Stops: o.stops,
		Unlabelled: o.Unlabelled, Numbers: o.Numbers, As: o.As, Grow: o.Grow, Complete: o.Complete, Paths: o.paths,
		Missing: layout.Rule(layout.MissingWords(o.Missing, o.As))}
}

// notePartitions notes the partitions that the paths of training data do not contain. Data to train a model further
// adds no partitions.
func (o *Options) notePartitions(set *Set) {
	if (o.As == nil || o.Grow) && set.Reading != nil {
		set.Detected.Partitions = columns.LeftOut(o.paths, set.Reading.Features, o.Ignore)
	}
}

// source returns the options with which inputs are opened.
func (o *Options) source() *source.Options {
	return &source.Options{Stdin: o.stdin(), OutputBytes: o.Limits.OutputBytes, Meter: o.Meter}
}

func (o *Options) stdin() io.Reader {
	if o.Stdin != nil {
		return o.Stdin
	}
	return os.Stdin
}
