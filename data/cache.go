package data

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellows/data/cache"
	"bellows/data/internal/bags"
	"bellows/data/internal/columnfile"
	"bellows/data/internal/idx"
	"bellows/data/internal/source"
	"bellows/progress"
)

// cacheVersion changes when parsing or the stored form does.
const cacheVersion = 6

// settled is how old a file must be before its columns are stored: two writes
// within one tick of a file system's clock look the same.
const settled = 50 * time.Millisecond

// slot is the place of one read in the cache: a folder whose name is a hash of
// the inputs' paths and the options, with a manifest and an Arrow file of
// the columns. It is good while its fingerprint, which covers sizes and
// modification times, fits. A new folder is written beside it and renamed, so
// that a slot is whole or absent; whatever else is found there is replaced.
//
// Invariant: a set that comes from a slot is the set that parsing would give (TestStoredSetIsTheSame, TestStoredSetFollowsItsInput,
// TestDamagedSlotIsRewritten): every byte is summed before it is believed. Folders need no lock. Two processes that store at once
// each write one of their own, and either is good.
type slot struct {
	ins         []source.Input
	kind        Kind
	opt         *Options
	dir         string
	fingerprint string
	asked       time.Time
}

// manifest describes the files of a slot.
type manifest struct {
	Version      int
	Fingerprint  string
	Kind         Kind
	Inputs       []string
	Detected     Detection
	Reading      *Reading
	Sparse       bool                  `json:",omitempty"`
	Times        bool                  `json:",omitempty"`
	LabelNames   []string              `json:",omitempty"`
	FeatureNames []string              `json:",omitempty"`
	Files        map[string]storedFile // by name
	Checksum     uint32                // of this manifest with 0 here
}

// storedFile is one file of a slot.
type storedFile struct {
	columnfile.Layout
	Bytes  int64
	CRC32C uint32
}

// The files of a slot. Ratings have all but words, documents columns and words, examples columns alone.
const (
	manifestName = cache.Manifest
	columnsName  = "columns.arrow"
	usersName    = "users.arrow"
	itemsName    = "items.arrow"
	wordsName    = "words.arrow"
)

// newSlot finds the slot of a read, nil when it has none: without a cache, and
// for standard input, which cannot be told from another, and for documents whose
// words are told, by a model or a training set.
func newSlot(ins []source.Input, kind Kind, opt *Options) *slot {
	if opt.Cache == "" || opt.Words != nil {
		return nil
	}
	s := &slot{ins: ins, kind: kind, opt: opt, asked: time.Now()}
	key := []any{cacheVersion, kind, opt.Format, opt.Label, opt.User, opt.Item, opt.Rating, opt.Separator, opt.Header, opt.IndexBase,
		opt.Features, opt.Unlabelled, opt.Limits, opt.Ignore, opt.Categorical, opt.As}
	if opt.Timed {
		key = append(key, "timed", opt.Time, opt.TimeKept)
	}
	if opt.HashBits > 0 {
		key = append(key, "bits", opt.HashBits)
	}
	if len(opt.Quadratic) > 0 {
		key = append(key, "quadratic", opt.Quadratic)
	}
	if opt.Grow {
		key = append(key, "grow")
	}
	if kind == Documents {
		key = append(key, opt.Vocab, opt.Text)
	}
	for _, in := range ins {
		path, err := filepath.Abs(in.Path)
		if err != nil || in.Path == "" {
			return nil
		}
		key = append(key, path)
	}
	s.dir = filepath.Join(opt.Cache, digest(key)[:32])
	s.fingerprint, _ = s.state()
	return s
}

func digest(parts []any) string {
	text, err := json.Marshal(parts)
	if err != nil { // strings, numbers and structs of them: cannot fail
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// state is a fingerprint of the inputs as they are now, label files of images
// and vocabularies included, and the time of their last change.
func (s *slot) state() (fingerprint string, changed time.Time) {
	paths := make([]string, 0, len(s.ins)+1)
	for _, in := range s.ins {
		paths = append(paths, in.Path)
		if idx.Named(filepath.Base(in.Path)) || s.opt.Format == IDX {
			paths = append(paths, idx.LabelNames(in.Path)...)
		}
	}
	if s.kind == Documents {
		paths = append(paths, bags.VocabularyPaths(s.ins[0].Path, s.opt.Vocab)...)
	}
	parts := []any{cacheVersion}
	for _, path := range append(paths, s.opt.Label) {
		if info, err := os.Stat(path); err == nil {
			parts = append(parts, path, info.Size(), info.ModTime().UnixNano())
			if info.ModTime().After(changed) {
				changed = info.ModTime()
			}
		}
	}
	return digest(parts), changed
}

// open returns the stored set, if there is one and every byte of it is good.
func (s *slot) open() (set *Set, ok bool) {
	if s == nil {
		return nil, false
	}
	m, err := readManifest(filepath.Join(s.dir, manifestName))
	if err != nil || m.Version != cacheVersion || m.Fingerprint != s.fingerprint || m.Kind != s.kind {
		return nil, false
	}
	l := &loader{dir: s.dir, m: m, meter: s.opt.Meter, idles: s.opt.Mapped}
	s.opt.Meter.Begin(progress.Part{Doing: "opening the stored columns of " + source.Named(s.ins), Unit: "bytes", Total: m.bytes()})
	set, err = l.load()
	if err != nil {
		_ = l.close()
		return nil, false
	}
	_ = os.Chtimes(filepath.Join(s.dir, manifestName), s.asked, s.asked) // it was used now; a folder that cannot be written is not trimmed
	return set, true
}

func readManifest(path string) (*manifest, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, err
	}
	want := m.Checksum
	if m.Checksum = 0; m.sum() != want {
		return nil, errors.New("the manifest does not match its checksum")
	}
	return m, nil
}

// bytes are those of all files.
func (m *manifest) bytes() (all int64) {
	for _, f := range m.Files {
		all += f.Bytes
	}
	return all
}

func (m *manifest) sum() uint32 {
	text, err := json.Marshal(m)
	if err != nil { // strings, numbers and structs of them: cannot fail
		panic(err)
	}
	return columnfile.Checksum(text)
}

// loader maps the files of a slot.
type loader struct {
	dir   string
	m     *manifest
	maps  []*columnfile.Mapping
	meter *progress.Meter
	idles bool // what was looked at is given back
}

func (l *loader) close() error {
	var errs []error
	for _, m := range l.maps {
		errs = append(errs, m.Close())
	}
	l.maps = nil
	return errors.Join(errs...)
}

func (l *loader) idle() {
	for _, m := range l.maps {
		m.Idle()
	}
}

// file maps one file and checks its length and checksum.
func (l *loader) file(name string) ([]byte, columnfile.Layout, error) {
	f, ok := l.m.Files[name]
	if !ok {
		return nil, f.Layout, fmt.Errorf("%s is not listed", name)
	}
	m, err := columnfile.Map(filepath.Join(l.dir, name))
	if err != nil {
		return nil, f.Layout, err
	}
	l.maps = append(l.maps, m)
	sum, err := l.sum(m)
	if err != nil {
		return nil, f.Layout, err
	}
	if int64(len(m.Bytes)) != f.Bytes || sum != f.CRC32C {
		return nil, f.Layout, fmt.Errorf("%s does not match its checksum", name)
	}
	return m.Bytes, f.Layout, nil
}

// sum is the checksum of a file, which comes from the disk as it is summed: some megabytes after the other, with a look whether to go on.
func (l *loader) sum(m *columnfile.Mapping) (sum uint32, err error) {
	for piece := range slices.Chunk(m.Bytes, storeStep) {
		sum = columnfile.Update(sum, piece)
		if l.idles {
			m.Idle()
		}
		if err = l.meter.Add(int64(len(piece))); err != nil {
			break
		}
	}
	return sum, err
}

func (l *loader) names(name string) ([]string, error) {
	file, layout, err := l.file(name)
	if err != nil {
		return nil, err
	}
	return columnfile.ReadNames(file, layout)
}

func (l *loader) load() (*Set, error) {
	detected := l.m.Detected
	detected.FromCache = true
	shape := columnfile.Contents{Ratings: l.m.Kind == Ratings, Sparse: l.m.Sparse, Times: l.m.Times, Features: detected.Features}
	var users, items []string
	if shape.Ratings {
		var err error
		if users, err = l.names(usersName); err != nil {
			return nil, err
		}
		if items, err = l.names(itemsName); err != nil {
			return nil, err
		}
		shape.Users, shape.Items = len(users), len(items)
	}
	if shape.Documents = l.m.Kind == Documents; shape.Documents {
		var err error
		if items, err = l.names(wordsName); err != nil {
			return nil, err
		}
		shape.Features = len(items)
	}
	file, layout, err := l.file(columnsName)
	if err != nil {
		return nil, err
	}
	c, err := columnfile.ReadColumns(file, layout, shape)
	if err != nil {
		return nil, err
	}
	if c.Rows() != detected.Rows {
		return nil, fmt.Errorf("there are %d rows, not %d", c.Rows(), detected.Rows)
	}
	set := &Set{Kind: l.m.Kind, Detected: detected, Reading: l.m.Reading, Time: c.Time, unmap: l.close, idle: l.idle}
	switch {
	case shape.Documents:
		set.Documents = &DocumentSet{Offset: c.Offset, Word: c.Index, Count: c.Count, Vocab: items}
	case shape.Ratings:
		set.Ratings = &RatingSet{User: c.User, Item: c.Item, Rating: c.Rating, Users: users, Items: items}
	default:
		set.Examples = &ExampleSet{Label: c.Label, Features: shape.Features, Dense: c.Dense, Offset: c.Offset,
			Index: c.Index, Value: c.Value, LabelNames: l.m.LabelNames, FeatureNames: l.m.FeatureNames, IndexBase: detected.IndexBase}
		if detected.Filled > 0 && l.m.Reading != nil {
			return set, set.Examples.refill(l.m.Reading.Features)
		}
	}
	return set, nil
}

// store writes a set into the slot. It returns why it did not, which never is
// a reason to fail a read.
func (s *slot) store(set *Set) (problem string) {
	if s == nil {
		return ""
	}
	now, changed := s.state()
	switch {
	case now != s.fingerprint:
		return inputChanged + " while it was read"
	case s.asked.Sub(changed) < settled:
		return inputChanged + " just before it was read"
	}
	err := s.write(set)
	if err == nil {
		most := s.opt.CacheBytes
		if most == 0 {
			most = cache.Most(s.opt.Cache)
		}
		err = cache.Trim(s.dir, most, s.asked)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// inputChanged begins the reasons for which an input is not stored this time, and is the next.
const inputChanged = "the input changed"

// CacheUnusable says whether the cache could not take the columns, and will not the next time.
func (d Detection) CacheUnusable() bool {
	return d.CacheProblem != "" && !strings.HasPrefix(d.CacheProblem, inputChanged)
}

// write writes a new folder and puts it into the slot's place.
func (s *slot) write(set *Set) error {
	if err := os.MkdirAll(s.opt.Cache, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(s.opt.Cache, filepath.Base(s.dir)+".part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	m := &manifest{Version: cacheVersion, Fingerprint: s.fingerprint, Kind: s.kind, Detected: set.Detected, Reading: set.Reading, Files: map[string]storedFile{}}
	for _, in := range s.ins {
		m.Inputs = append(m.Inputs, in.Path)
	}
	w := &storer{dir: temporary, m: m, meter: s.opt.Meter}
	w.meter.Begin(progress.Part{Doing: "storing columns for the next time", Unit: "bytes", Total: set.size()})
	if set.Examples != nil {
		defer set.Examples.bare()()
	}
	if err := w.columns(set); err != nil {
		return err
	}
	m.Checksum = m.sum()
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(temporary, manifestName), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return s.replace(temporary)
}

// replace renames a whole folder into the slot's place. Another process may do
// the same at this moment: then either folder is good.
func (s *slot) replace(whole string) error {
	if err := os.Chmod(whole, 0o755); err != nil {
		return err
	}
	if os.Rename(whole, s.dir) == nil {
		return nil
	}
	old := whole + ".old"
	if err := os.Rename(s.dir, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	defer os.RemoveAll(old)
	return os.Rename(whole, s.dir)
}

// storer writes the files of a slot.
type storer struct {
	dir   string
	m     *manifest
	meter *progress.Meter
}

// storeStep is how much of a stored file is written or summed before somebody asks whether to go on.
const storeStep = 4 << 20

// size is about how many bytes the set's columns take when they are stored.
func (s *Set) size() int64 {
	c := s.columns()
	ids := 0
	if s.Ratings != nil {
		ids = len(s.Ratings.Users) + len(s.Ratings.Items)
	}
	if s.Documents != nil {
		ids = len(s.Documents.Vocab)
	}
	return int64(4*(len(c.User)+len(c.Item)+len(c.Rating)+len(c.Label)+len(c.Dense)+len(c.Index)+len(c.Value)+len(c.Count)) + 8*(len(c.Offset)+len(c.Time)) + 16*ids)
}

func (w *storer) columns(set *Set) error {
	meta := map[string]string{"bellows.kind": set.Kind.String(), "bellows.format": set.Detected.Format,
		"bellows.index_base": strconv.Itoa(set.Detected.IndexBase)}
	shape := columnfile.Contents{Ratings: set.Ratings != nil, Features: set.Detected.Features}
	w.m.Times = set.Time != nil
	shape.Times = w.m.Times
	switch r := set.Ratings; {
	case set.Documents != nil:
		shape.Documents, shape.Features = true, len(set.Documents.Vocab)
		if err := w.names(wordsName, set.Documents.Vocab); err != nil {
			return err
		}
	case r != nil:
		if err := errors.Join(w.names(usersName, r.Users), w.names(itemsName, r.Items)); err != nil {
			return err
		}
	default:
		shape.Sparse = set.Examples.Sparse()
		w.m.Sparse, w.m.LabelNames, w.m.FeatureNames = shape.Sparse, set.Examples.LabelNames, set.Examples.FeatureNames
		if names, err := json.Marshal(set.Examples.FeatureNames); err == nil && set.Examples.FeatureNames != nil {
			meta["bellows.feature_names"] = string(names)
		}
	}
	return w.file(columnsName, func(f io.Writer) error { return columnfile.WriteColumns(f, shape, set.columns(), meta) })
}

// columns is what of the set is stored.
func (s *Set) columns() *columnfile.Columns {
	if r := s.Ratings; r != nil {
		return &columnfile.Columns{User: r.User, Item: r.Item, Rating: r.Rating, Time: s.Time}
	}
	if d := s.Documents; d != nil {
		return &columnfile.Columns{Offset: d.Offset, Index: d.Word, Count: d.Count}
	}
	e := s.Examples
	return &columnfile.Columns{Label: e.Label, Dense: e.Dense, Offset: e.Offset, Index: e.Index, Value: e.Value, Time: s.Time}
}

func (w *storer) names(name string, ids []string) error {
	return w.file(name, func(f io.Writer) error { return columnfile.WriteNames(f, ids) })
}

// file writes one file, buffered, and lists it with its checksum and where its columns are.
func (w *storer) file(name string, fill func(io.Writer) error) error {
	path := filepath.Join(w.dir, name)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	sum := &columnfile.Writer{File: f}
	buffered := bufio.NewWriterSize(columnfile.Metered{To: sum, Meter: w.meter, Step: storeStep}, 256<<10)
	err = fill(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	m, err := columnfile.Map(path)
	if err != nil {
		return err
	}
	layout, err := columnfile.Locate(m.Bytes)
	w.m.Files[name] = storedFile{Layout: layout, Bytes: sum.Bytes, CRC32C: sum.Sum}
	return errors.Join(err, m.Close())
}
