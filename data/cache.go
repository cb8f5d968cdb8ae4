package data

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"bellows/data/internal/bags"
	"bellows/data/internal/columnfile"
	"bellows/data/internal/idx"
	"bellows/data/internal/source"
	"bellows/data/internal/stored"
)

// cacheVersion changes when the parser or the stored form changes.
const cacheVersion = 9

// A slot is the place in the cache where the result of a read is stored. It is nil if the read is not stored.
type slot stored.Slot

// notes holds what is stored with a set besides its columns and its Detection.
type notes struct {
	Kind         Kind
	Reading      *Reading
	LabelNames   []string `json:",omitempty"`
	FeatureNames []string `json:",omitempty"`
	Numerals     []string `json:",omitempty"` // of labels that are numbers
	Many         bool     `json:",omitempty"` // there are too many labels to be classes
	Origin       float64  `json:",omitempty"` // of labels or ratings
	Origins      []Origin `json:",omitempty"`
}

// newSlot returns the slot of a read. It is nil without a cache; for standard input, which cannot be told apart from
// other standard input; and for documents whose words come from a model or a training set.
func newSlot(ins []source.Input, kind Kind, opt *Options) *slot {
	if opt.Cache == "" || opt.Words != nil {
		return nil
	}
	key := []any{kind, opt.Format, opt.Label, opt.User, opt.Item, opt.Rating, opt.Separator, opt.Header, opt.IndexBase, opt.Features, opt.Unlabelled, opt.Limits, opt.Ignore, opt.Categorical, opt.As}
	if opt.Timed {
		key = append(key, "timed", opt.Time, opt.TimeKept)
	}
	if opt.Missing != nil {
		key = append(key, "missing", opt.Missing)
	}
	if opt.Weight != "" {
		key = append(key, "weight", opt.Weight)
	}
	if opt.HashBits > 0 {
		key = append(key, "bits", opt.HashBits)
	}
	if len(opt.Quadratic) > 0 {
		key = append(key, "quadratic", opt.Quadratic)
	}
	if kind == Examples && opt.Ngrams > 0 {
		key = append(key, "ngrams", opt.Ngrams)
	}
	if opt.Grow {
		key = append(key, "grow")
	}
	if opt.Numbers {
		key = append(key, "numbers")
	}
	if kind == Documents {
		key = append(key, opt.Vocab, opt.Text, opt.stops, opt.Ngrams)
	}
	a := stored.Request{Stamp: opt.blobVersion, Folder: opt.Cache, Bytes: opt.CacheBytes, Version: cacheVersion, Idles: opt.Mapped, Meter: opt.Meter}
	for _, in := range ins {
		path, err := filepath.Abs(in.Path)
		if in.IsBlob() {
			path = in.Path
		}
		if err != nil || in.Path == "" || in.Version == source.Unversioned {
			return nil
		}
		key = append(key, path)
		a.Inputs, a.Files = append(a.Inputs, in.Path), append(a.Files, in.Path)
		if f := opt.folders[in.Path]; f != nil {
			a.Files = append(a.Files, f.Paths...)
		}
		if idx.Named(filepath.Base(in.Path)) || opt.Format == IDX {
			a.Files = append(a.Files, idx.LabelNames(in.Path)...)
		}
	}
	if kind == Documents {
		a.Files = append(a.Files, bags.VocabularyPaths(ins[0].Path, opt.Vocab)...)
	}
	a.Key, a.Files = key, append(a.Files, opt.Label)
	return (*slot)(stored.New(a))
}

// blobVersion returns the current version of a blob. found is false for other inputs.
func (o *Options) blobVersion(path string) (version string, found bool) {
	if !strings.Contains(path, "://") {
		return "", false
	}
	in, err := o.places.Stat(path)
	return in.Version, err == nil && in.IsBlob()
}

// open returns the stored set if there is one and its checksums match.
func (s *slot) open() (set *Set, ok bool) {
	c, ok := (*stored.Slot)(s).Open()
	if !ok {
		return nil, false
	}
	var n notes
	set = &Set{unmap: c.Close, idle: c.Idle, Time: c.Columns.Time}
	err := json.Unmarshal(c.Notes, &n)
	if err == nil {
		err = json.Unmarshal(c.Detected, &set.Detected)
	}
	set.Kind, set.Reading, set.Detected.FromCache = n.Kind, n.Reading, true
	switch of := c.Columns; {
	case err != nil:
	case c.Shape.Documents:
		set.Documents = &DocumentSet{Offset: of.Offset, Word: of.Index, Count: of.Count, Vocab: c.Words}
	case c.Shape.Ratings:
		set.Ratings = &RatingSet{User: of.User, Item: of.Item, Rating: of.Rating, Users: c.Users, Items: c.Items, Origin: n.Origin}
	default:
		set.Examples = &ExampleSet{Label: of.Label, Weight: of.Weight, Features: c.Shape.Features, Dense: of.Dense, Offset: of.Offset, Index: of.Index, Value: of.Value, LabelNames: n.LabelNames, FeatureNames: n.FeatureNames,
			IndexBase:   set.Detected.IndexBase,
			LabelOrigin: n.Origin, Origins: n.Origins, written: numerals{n.Numerals, of.Numeral, n.Many}}
		if set.Detected.Filled > 0 && n.Reading != nil {
			err = set.Examples.refill(n.Reading.Features)
		}
	}
	if err != nil {
		_ = c.Close()
		return nil, false
	}
	return set, true
}

// store writes a set into the slot. It returns the problem, if there is one; a read never fails because of it.
func (s *slot) store(set *Set) (problem string) {
	if s == nil {
		return ""
	}
	n := notes{Kind: set.Kind, Reading: set.Reading}
	c := &stored.Contents{Columns: set.columns(), Shape: columnfile.Contents{Times: set.Time != nil, Features: set.Detected.Features},
		Meta: map[string]string{"bellows.kind": set.Kind.String(), "bellows.format": set.Detected.Format, "bellows.index_base": strconv.Itoa(set.Detected.IndexBase)}}
	switch r := set.Ratings; {
	case set.Documents != nil:
		c.Shape.Documents, c.Words, c.Shape.Features = true, set.Documents.Vocab, len(set.Documents.Vocab)
	case r != nil:
		c.Shape.Ratings, c.Users, c.Items, n.Origin = true, r.Users, r.Items, r.Origin
	default:
		e := set.Examples
		defer e.unfill()()
		n.Numerals, n.Many, n.Origin, n.Origins = e.written.names, e.written.many, e.LabelOrigin, e.Origins
		if c.Shape.Weights = e.Weight != nil; e.written.row != nil {
			c.Shape.Numerals = len(e.written.names)
		}
		c.Columns, c.Shape.Sparse, n.LabelNames, n.FeatureNames = set.columns(), e.Sparse(), e.LabelNames, e.FeatureNames
		if names, err := json.Marshal(e.FeatureNames); err == nil && e.FeatureNames != nil {
			c.Meta["bellows.feature_names"] = string(names)
		}
	}
	var err error
	if c.Notes, err = json.Marshal(n); err == nil {
		c.Detected, err = json.Marshal(set.Detected)
	}
	if err != nil {
		return err.Error()
	}
	return (*stored.Slot)(s).Store(c)
}

// columns returns the columns of the set that are stored.
func (s *Set) columns() *columnfile.Columns {
	if r := s.Ratings; r != nil {
		return &columnfile.Columns{User: r.User, Item: r.Item, Rating: r.Rating, Time: s.Time}
	}
	if d := s.Documents; d != nil {
		return &columnfile.Columns{Offset: d.Offset, Index: d.Word, Count: d.Count}
	}
	e := s.Examples
	return &columnfile.Columns{Label: e.Label, Weight: e.Weight, Dense: e.Dense, Offset: e.Offset, Index: e.Index, Value: e.Value, Time: s.Time, Numeral: e.written.row}
}
