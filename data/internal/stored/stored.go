// Package stored keeps the columns of a read in an entry of the cache: files of Arrow with a manifest beside them, whole or not there.
//
// The caller's duties, in order: make a Slot by everything that decides what a read gives; Open it, and Close what it gave when its columns are used no
// more; else read, and Store what came. What the columns mean is told to it by Notes, and is the caller's.
//
// The package refuses to believe a byte that does not match its sum, and to store of inputs that change.
package stored

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
	"time"

	"bellows/data/cache"
	"bellows/data/internal/columnfile"
	"bellows/progress"
)

// settled is how old a file must be before its columns are stored: two writes
// within one tick of a file system's clock look the same.
const settled = 50 * time.Millisecond

// Slot is the place of one read in the cache: a folder whose name is a hash of
// the inputs' paths and the options, with a manifest and an Arrow file of
// the columns. It is good while its fingerprint, which covers sizes and
// modification times, fits. A new folder is written beside it and renamed, so
// that a slot is whole or absent; whatever else is found there is replaced.
//
// Invariant: a set that comes from a slot is the set that parsing would give (TestStoredSetIsTheSame, TestStoredSetFollowsItsInput,
// TestDamagedSlotIsRewritten): every byte is summed before it is believed. Folders need no lock. Two processes that store at once
// each write one of their own, and either is good.
type Slot struct {
	Asked
	dir         string
	fingerprint string
	since       time.Time
}

// Asked is what a slot is made by.
type Asked struct {
	Folder  string                                       // the cache
	Bytes   int64                                        // what it may hold; 0 is cache.Most of the folder
	Version int                                          // of the stored form, and of whatever makes it
	Key     []any                                        // everything that decides what is read, as JSON
	Inputs  []string                                     // as people are told
	Files   []string                                     // whose sizes and times are looked at, if they are there
	Stamp   func(path string) (stamp string, found bool) // of those that are no files of this machine
	Idles   bool                                         // what was looked at is given back
	Meter   *progress.Meter                              // is told what is written and summed
}

// Contents is what lies in a slot.
type Contents struct {
	Detected json.RawMessage   // how the input was understood; it has the Rows
	Notes    json.RawMessage   // whatever else its reader wants to be told
	Meta     map[string]string // of the file of columns, for other programs

	Shape   columnfile.Contents
	Columns *columnfile.Columns
	Users   []string // of ratings
	Items   []string // of ratings
	Words   []string // of documents

	maps []*columnfile.Mapping
}

// manifest describes the files of a slot.
type manifest struct {
	Version     int
	Fingerprint string
	Inputs      []string
	Detected    json.RawMessage
	Notes       json.RawMessage
	Shape       columnfile.Contents
	Rows        int
	Files       map[string]storedFile // by name
	Checksum    uint32                // of this manifest with 0 here
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

// New is the slot of what is read now.
func New(a Asked) *Slot {
	s := &Slot{Asked: a, since: time.Now()}
	s.dir = filepath.Join(a.Folder, digest(append([]any{a.Version}, a.Key...))[:32])
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

// state is a fingerprint of the inputs as they are now, and the time of their last change.
func (s *Slot) state() (fingerprint string, changed time.Time) {
	parts := []any{s.Version}
	for _, path := range s.Files {
		if stamp, found := s.Stamp(path); found {
			parts = append(parts, path, stamp)
			continue
		}
		if info, err := os.Stat(path); err == nil {
			parts = append(parts, path, info.Size(), info.ModTime().UnixNano())
			if info.ModTime().After(changed) {
				changed = info.ModTime()
			}
		}
	}
	return digest(parts), changed
}

// Open returns what is stored, if there is something and every byte of it is good.
func (s *Slot) Open() (c *Contents, ok bool) {
	if s == nil {
		return nil, false
	}
	m, err := readManifest(filepath.Join(s.dir, manifestName))
	if err != nil || m.Version != s.Version || m.Fingerprint != s.fingerprint {
		return nil, false
	}
	l := &loader{dir: s.dir, m: m, meter: s.Meter, idles: s.Idles}
	s.Meter.Begin(progress.Part{Doing: "opening the stored columns of " + named(s.Inputs), Unit: "bytes", Total: m.bytes()})
	if c, err = l.load(); err != nil {
		_ = l.close()
		return nil, false
	}
	_ = os.Chtimes(filepath.Join(s.dir, manifestName), s.since, s.since) // it was used now; a folder that cannot be written is not trimmed
	return c, true
}

// named names inputs in a few words.
func named(inputs []string) string {
	if len(inputs) > 1 {
		return fmt.Sprintf("%d files", len(inputs))
	}
	return filepath.Base(inputs[0])
}

// Close gives the columns back.
func (c *Contents) Close() error {
	l := &loader{maps: c.maps}
	c.maps = nil
	return l.close()
}

// Idle lets the system have the memory of what was looked at; it comes again from the disk.
func (c *Contents) Idle() {
	for _, m := range c.maps {
		m.Idle()
	}
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

func (l *loader) load() (c *Contents, err error) {
	c = &Contents{Detected: l.m.Detected, Notes: l.m.Notes, Shape: l.m.Shape}
	if c.Shape.Ratings {
		if c.Users, err = l.names(usersName); err != nil {
			return nil, err
		}
		if c.Items, err = l.names(itemsName); err != nil {
			return nil, err
		}
		c.Shape.Users, c.Shape.Items = len(c.Users), len(c.Items)
	}
	if c.Shape.Documents {
		if c.Words, err = l.names(wordsName); err != nil {
			return nil, err
		}
		c.Shape.Features = len(c.Words)
	}
	file, layout, err := l.file(columnsName)
	if err != nil {
		return nil, err
	}
	if c.Columns, err = columnfile.ReadColumns(file, layout, c.Shape); err != nil {
		return nil, err
	}
	if c.Columns.Rows() != l.m.Rows {
		return nil, fmt.Errorf("there are %d rows, not %d", c.Columns.Rows(), l.m.Rows)
	}
	c.maps = l.maps
	return c, nil
}

// Changed begins the reasons for which an input is not stored this time, and is the next.
const Changed = "the input changed"

// Store writes into the slot. It returns why it did not, which never is
// a reason to fail a read.
func (s *Slot) Store(c *Contents) (problem string) {
	now, changed := s.state()
	switch {
	case now != s.fingerprint:
		return Changed + " while it was read"
	case s.since.Sub(changed) < settled:
		return Changed + " just before it was read"
	}
	err := s.write(c)
	if err == nil {
		most := s.Bytes
		if most == 0 {
			most = cache.Most(s.Folder)
		}
		err = cache.Trim(s.dir, most, s.since)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// write writes a new folder and puts it into the slot's place.
func (s *Slot) write(c *Contents) error {
	if err := os.MkdirAll(s.Folder, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(s.Folder, filepath.Base(s.dir)+".part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	m := &manifest{Version: s.Version, Fingerprint: s.fingerprint, Inputs: s.Inputs, Detected: c.Detected, Notes: c.Notes, Shape: c.Shape,
		Rows: c.Columns.Rows(), Files: map[string]storedFile{}}
	w := &storer{dir: temporary, m: m, meter: s.Meter}
	w.meter.Begin(progress.Part{Doing: "storing columns for the next time", Unit: "bytes", Total: c.size()})
	if err := w.contents(c); err != nil {
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
func (s *Slot) replace(whole string) error {
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

// size is about how many bytes the columns take when they are stored.
func (c *Contents) size() int64 {
	of, ids := c.Columns, len(c.Users)+len(c.Items)+len(c.Words)
	return int64(4*(len(of.User)+len(of.Item)+len(of.Rating)+len(of.Label)+len(of.Dense)+len(of.Index)+len(of.Value)+len(of.Count)) + 8*(len(of.Offset)+len(of.Time)) + 16*ids)
}

func (w *storer) contents(c *Contents) error {
	switch {
	case c.Shape.Documents:
		if err := w.names(wordsName, c.Words); err != nil {
			return err
		}
	case c.Shape.Ratings:
		if err := errors.Join(w.names(usersName, c.Users), w.names(itemsName, c.Items)); err != nil {
			return err
		}
	}
	return w.file(columnsName, func(f io.Writer) error { return columnfile.WriteColumns(f, c.Shape, c.Columns, c.Meta) })
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
