package verbs

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"bellows/cli/internal/line"
	"bellows/cli/internal/processes"
	"bellows/cli/internal/splits"
	"bellows/cli/internal/watch"
	"bellows/data"

	"github.com/spf13/pflag"
)

// trainOptions are the flags of train and demo as they were given.
type trainOptions struct {
	test            []string
	out             string
	epochs          int
	until           string
	seed            uint64
	set             line.Settings
	staleness       string
	workers         string
	fresh           bool
	cache           string
	reading         readOptions
	cluster         processes.Options
	state           string
	metrics         string
	from            string
	holdout         string
	cv              string
	time            string
	timeKept        bool
	checkpoint      string
	checkpointEvery string
	ignoreMemory    bool
}

// readOptions are the flags that overrule what is detected in DATA.
type readOptions struct {
	format, label, weight, ignore, categorical, user, item, rating, separator, header, base, vocab, text string
	stopWords                                                                                            string
	hashBits, ngrams                                                                                     int
	quadratic                                                                                            []string
	missing                                                                                              wordsFlag
}

func (o *trainOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.out, "out", "", "`FOLDER` of the run (default: runs/APP-N)")
	f.IntVar(&o.epochs, "epochs", 0, "`NUMBER` of passes over the data (default: to convergence)")
	line.AtLeast(f, "epochs", 1, "leave --epochs out to stop when the held-out error stops falling")
	f.StringVar(&o.until, "until", "", "`GOAL` at which to stop: METRIC<=X or METRIC>=X")
	f.Uint64Var(&o.seed, "seed", 1, "random `SEED`; the same seed gives the same model")
	f.Var(&o.set, "set", "`NAME=VALUE`: change a setting; may be repeated")
	f.StringVar(&o.staleness, "staleness", "", "`CLOCKS` a read may lag: 0, more, async (default: by APP)")
	f.StringVar(&o.workers, "workers", "auto", "`NUMBER` of compute slots; A:B may grow to B")
	f.StringVar(&o.checkpoint, "checkpoint", "", "`PLACE`: a folder, a URI or none (default: in the run folder)")
	f.StringVar(&o.checkpointEvery, "checkpoint-every", "auto", "`DURATION` between checkpoints, or auto")
	f.BoolVar(&o.fresh, "fresh", false, "start over: do not resume a run, replace the one in --out")
	f.StringVar(&o.from, "from", "", "continue training this saved `MODEL`, also on more data")
	f.BoolVar(&o.ignoreMemory, "ignore-memory", false, "train even if memory is estimated not to be enough")
	f.StringVar(&o.metrics, "metrics", "", "serve Prometheus metrics at this `ADDR`: 127.0.0.1:9090")
	watch.StateFlag(f, &o.state)
	o.cluster.Flags(f)
}

func (o *trainOptions) registerReading(f *pflag.FlagSet, kind data.Kind) {
	f.StringArrayVar(&o.test, "test", nil, "score this `FILE` (default: hold out 10 % of DATA)")
	o.registerHoldout(f, kind)
	f.StringVar(&o.cv, "cv", "", "cross-validate in `K` folds and leave no model")
	splits.Flag(f, &o.cache)
	o.reading.register(f, kind)
}

func (o *trainOptions) registerHoldout(f *pflag.FlagSet, kind data.Kind) {
	which := []string{"hash", "last"}
	if kind != data.Documents {
		which = append(which, "time")
		f.StringVar(&o.time, "time", "", "`COLUMN` of times for --holdout time (default: by name)")
	}
	if kind == data.Examples {
		which = append(which, "stratified")
		f.BoolVar(&o.timeKept, "time-feature", false, "also use the column of --holdout time as a feature")
	}
	f.StringVar(&o.holdout, "holdout", "", "`ROWS` held out: "+strings.Join(which, ", ")+" (default hash)")
}

// meaning is the kinds of data for which a flag of reading means something; those that are not here do for all.
var meaning = map[string][]data.Kind{
	"user": {data.Ratings}, "item": {data.Ratings}, "rating": {data.Ratings},
	"label": {data.Ratings, data.Examples}, "weight": {data.Examples}, "ignore": {data.Examples}, "categorical": {data.Examples},
	"missing": {data.Ratings, data.Examples},
	"base":    {data.Examples}, "hash-bits": {data.Examples}, "quadratic": {data.Examples},
	"vocab":      {data.Documents},
	"text":       {data.Documents},
	"stop-words": {data.Documents}, "ngrams": {data.Examples, data.Documents},
	"sep":    {data.Ratings, data.Examples},
	"header": {data.Ratings, data.Examples},
}

// register declares the flags that mean something for a kind of data, or all of them for 0.
func (r *readOptions) register(f *pflag.FlagSet, kind data.Kind) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	r.registerAll(all)
	all.VisitAll(func(flag *pflag.Flag) {
		kinds := meaning[flag.Name]
		means := kind == 0 || kinds == nil || slices.Contains(kinds, kind)
		if means || flag.Name == "weight" {
			f.AddFlag(flag)
			flag.Hidden = !means || flag.Name == "label" && kind == data.Ratings // check has a hint if it is given all the same
		}
	})
}

// check refuses flags that mean nothing for a kind of data, where the command could not know it when they were declared.
func (r *readOptions) check(kind data.Kind) error {
	if r.label != "" && kind == data.Ratings {
		return line.BadFlag("label", r.label, "ratings have no label; say with --rating which column is the rating, with --user and --item which are the others")
	}
	if r.weight != "" && kind != data.Examples {
		return line.BadFlag("weight", r.weight, "%s have no weights; rows of linear and mlr have", kind)
	}
	given := r.given()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if kinds := meaning[name]; kinds != nil && !slices.Contains(kinds, kind) {
			return line.BadFlag(name, given[name], "it means nothing for %s, which the model is for", kind)
		}
	}
	return nil
}

func (r *readOptions) registerAll(f *pflag.FlagSet) {
	f.StringVar(&r.format, "format", "", "`FORMAT` of DATA, such as csv or libsvm (default: detected)")
	f.StringVar(&r.label, "label", "", "label `COLUMN`, by name or number from 1; IDX: file of labels")
	f.StringVar(&r.weight, "weight", "", "`COLUMN` of row weights, by name or number; 0 omits a row")
	f.StringVar(&r.user, "user", "", "`COLUMN` of the users (default: by name, else the first)")
	f.StringVar(&r.item, "item", "", "`COLUMN` of the items (default: by name, else the second)")
	f.StringVar(&r.rating, "rating", "", "`COLUMN` of the ratings (default: by name, else the third)")
	f.StringVar(&r.ignore, "ignore", "", "`COLUMNS` to leave out, by names or numbers: a,b")
	f.IntVar(&r.hashBits, "hash-bits", 0, "Vowpal Wabbit: `BITS` of a hash, 1 to 27 (default 18)")
	f.StringArrayVar(&r.quadratic, "quadratic", nil, "Vowpal Wabbit: cross the features of namespaces `AB`")
	f.StringVar(&r.categorical, "categorical", "", "`COLUMNS` to read as categories, by names or numbers: a,b")
	f.StringVar(&r.separator, "sep", "", "`SEPARATOR`: tab, comma, space, … or a character")
	f.StringVar(&r.header, "header", "auto", "`MODE`: first line has column names: auto, yes, no")
	f.StringVar(&r.vocab, "vocab", "", "`FILE` of docword or LDA-C words (default: found by its name)")
	f.StringVar(&r.text, "text", "", "`KEY` of the text in JSON lines (default: found by its name)")
	f.StringVar(&r.stopWords, "stop-words", "", "leave out these words of text: "+data.English+" or a `FILE`")
	f.IntVar(&r.ngrams, "ngrams", 0, "largest `NUMBER` of words in a term: 1 or 2 (default 1)")
	f.Var(&r.missing, "missing", "`WORDS` that mean a missing value (default: NA, NaN, …)")
	f.StringVar(&r.base, "base", "", "first `INDEX` of LIBSVM: 0 or 1 (default: detected)")
}

// apply lays the flags over the options that an application or a model asks for.
func (r readOptions) apply(o data.Options) (data.Options, error) {
	if formats := data.Formats(); r.format != "" && !slices.Contains(formats, r.format) {
		return o, line.BadFlag("format", r.format, "it must be one of %s%s", strings.Join(formats, ", "), line.DidYouMean(r.format, formats))
	}
	if r.base != "" && r.base != "0" && r.base != "1" {
		return o, line.BadFlag("base", r.base, "it must be 0 or 1")
	}
	switch r.header {
	case "auto":
	case "yes":
		o.Header = data.HeaderYes
	case "no":
		o.Header = data.HeaderNo
	default:
		return o, line.BadFlag("header", r.header, "it must be auto, yes or no")
	}
	if r.format != "" {
		o.Format = data.Format(r.format)
	}
	for _, f := range []struct {
		from string
		to   *string
	}{{r.label, &o.Label}, {r.weight, &o.Weight}, {r.user, &o.User}, {r.item, &o.Item}, {r.rating, &o.Rating}, {r.separator, &o.Separator}, {r.base, &o.IndexBase}, {r.vocab, &o.Vocab}, {r.text, &o.Text}, {r.stopWords, &o.StopWords}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	if r.hashBits < 0 || r.hashBits > 27 {
		return o, line.BadFlag("hash-bits", strconv.Itoa(r.hashBits), "it must be 1 to 27")
	}
	if r.ngrams < 0 || r.ngrams > 2 {
		return o, line.BadFlag("ngrams", strconv.Itoa(r.ngrams), "it must be 1 or 2")
	}
	o.HashBits, o.Quadratic, o.Ngrams = r.hashBits, r.quadratic, r.ngrams
	if r.missing.given {
		o.Missing = r.missing.words
	}
	o.Ignore, o.Categorical = listOf(r.ignore), listOf(r.categorical)
	return o, nil
}

// lists returns the files of words that the flags name in addition to DATA.
func (r readOptions) lists() []string {
	if r.stopWords == "" || r.stopWords == data.English {
		return nil
	}
	return []string{r.stopWords}
}

// wordsFlag is the value of a flag that lists words. The list may be empty.
type wordsFlag struct {
	words []string
	given bool
}

// String implements pflag.Value.
func (w *wordsFlag) String() string { return strings.Join(w.words, ",") }

// Set implements pflag.Value.
func (w *wordsFlag) Set(text string) error {
	w.words, w.given = append([]string{}, listOf(text)...), true
	return nil
}

// Type implements pflag.Value.
func (w *wordsFlag) Type() string { return "words" }

// listOf returns what commas separate.
func listOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// given returns the flags that are not at their defaults, for run.json.
func (r readOptions) given() map[string]string {
	out := map[string]string{}
	for name, v := range map[string]string{"format": r.format, "label": r.label, "weight": r.weight, "ignore": r.ignore, "categorical": r.categorical,
		"user": r.user, "item": r.item, "rating": r.rating, "sep": r.separator, "base": r.base, "vocab": r.vocab, "text": r.text, "stop-words": r.stopWords} {
		if v != "" {
			out[name] = v
		}
	}
	if len(r.quadratic) > 0 {
		out["quadratic"] = strings.Join(r.quadratic, ",")
	}
	if r.ngrams != 0 {
		out["ngrams"] = strconv.Itoa(r.ngrams)
	}
	if r.missing.given {
		out["missing"] = r.missing.String()
	}
	if r.hashBits != 0 {
		out["hash-bits"] = strconv.Itoa(r.hashBits)
	}
	if r.header != "" && r.header != "auto" {
		out["header"] = r.header
	}
	return out
}

const slotsLimit = 1024 // of --workers

// slots returns the number of compute slots that --workers asks for, and how many the job may get while it runs; 0: not
// set.
func (o *trainOptions) slots() (slots, most int, err error) {
	begin, upTo, bounded := strings.Cut(o.workers, ":")
	refuse := func() (int, int, error) {
		return 0, 0, line.BadFlag("workers", o.workers, "it must be auto or a number from 1 to %d, and after a colon the most that the job may get, such as 2:16", slotsLimit)
	}
	if bounded {
		if most, err = strconv.Atoi(upTo); err != nil || most < 1 || most > slotsLimit {
			return refuse()
		}
	}
	if o.cluster.At != "" && o.cluster.Reshapes() && bounded { // the nodes have their slots: it bounds nodes
		begin = "auto"
	}
	switch {
	case o.cluster.Lead != nil:
		if slots = o.cluster.Lead.Slots(); bounded {
			most = max(slots, most)
		}
		return slots, most, nil
	case begin != "auto" && o.cluster.At != "" && !o.cluster.Child:
		return 0, 0, line.BadFlag("workers", o.workers, "the cluster's nodes have their compute slots already; `scale --workers` changes how many nodes there are")
	case begin == "auto" && bounded:
		return min(runtime.GOMAXPROCS(0), most), most, nil
	case begin == "auto":
		return runtime.GOMAXPROCS(0), 0, nil
	}
	if slots, err = strconv.Atoi(begin); err != nil || slots < 1 || slots > slotsLimit {
		return refuse()
	}
	if bounded && slots > most {
		return 0, 0, line.BadFlag("workers", o.workers, "it begins with more than the %d that it may get; give the smaller number first", most)
	}
	return slots, most, nil
}

// workers returns the flag of a process that is started for a part of the job, so that it makes the same one.
func (o *order) workers() string {
	if o.most > 0 {
		return fmt.Sprintf("--workers=%d:%d", o.slots, o.most)
	}
	return fmt.Sprintf("--workers=%d", o.slots)
}

// stale returns --staleness as app.Input has it.
func (o *trainOptions) stale() (*int, error) {
	n := -1
	switch o.staleness {
	case "":
		return nil, nil
	case "async":
		return &n, nil
	}
	n, err := strconv.Atoi(o.staleness)
	if err != nil || n < 0 || n > 1<<20 {
		return nil, line.BadFlag("staleness", o.staleness, "it must be async or a number of clocks from 0")
	}
	return &n, nil
}
