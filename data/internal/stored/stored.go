// Package stored writes and reads one entry of the cache of parsed inputs: Arrow files with a manifest, complete or
// absent.
//
// The caller's duties, in order: make a Slot from everything that decides the result of the read; Open it, and Close
// the contents when their columns are not used any more; otherwise read, and Store the result. The meaning of the
// columns belongs to the caller, which may keep it in Notes.
//
// The package returns no byte whose checksum does not match, and does not store inputs that change.
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

// settled is the minimum age of a file whose columns are stored: two writes within one tick of a file system's clock
// look the same.
const settled = 50 * time.Millisecond

// A Slot is the place of one read in the cache: a folder whose name is a hash of the inputs' paths and the options,
// with a manifest and an Arrow file of the columns. It is valid while its fingerprint, which covers sizes and
// modification times, matches. A new folder is written next to it and renamed, so that a slot is complete or absent;
// anything else found there is replaced.
//
// Invariant: a set from a slot equals the set that parsing would give (TestStoredSetIsTheSame,
// TestStoredSetFollowsItsInput, TestDamagedSlotIsRewritten): every byte is checked against its checksum before use.
// Folders need no lock. If two processes store at once, each writes a folder of its own, and either is valid.
type Slot struct {
	Request
	dir         string
	fingerprint string
	since       time.Time
}

// Request holds what a slot is made from.
type Request struct {
	Folder  string                                       // the cache
	Bytes   int64                                        // limit of the cache; 0 is cache.Most of the folder
	Version int                                          // of the stored form, and of the code that makes it
	Key     []any                                        // everything that decides what is read, as JSON
	Inputs  []string                                     // as messages show them
	Files   []string                                     // whose sizes and times are checked, if they exist
	Stamp   func(path string) (stamp string, found bool) // versions of those that are no files of this machine
	Idles   bool                                         // memory is released after it was checked
	Meter   *progress.Meter                              // counts the bytes written and checked
}

// Contents holds the content of a slot.
type Contents struct {
	Detected json.RawMessage   // how the input was understood; it has the Rows
	Notes    json.RawMessage   // further information for the caller
	Meta     map[string]string // metadata of the file of columns, for other programs

	Shape   columnfile.Contents
	Columns *columnfile.Columns
	Users   []string // for ratings
	Items   []string // for ratings
	Words   []string // for documents

	maps []*columnfile.Mapping
}

// A manifest describes the files of a slot.
type manifest struct {
	Version     int
	Fingerprint string
	Inputs      []string
	Detected    json.RawMessage
	Notes       json.RawMessage
	Shape       columnfile.Contents
	Rows        int
	Files       map[string]storedFile // by name
	Checksum    uint32                // of this manifest with 0 in this field
}

// A storedFile is one file of a slot.
type storedFile struct {
	columnfile.Layout
	Bytes  int64
	CRC32C uint32
}

// The files of a slot. Ratings have all but words, documents columns and words, examples only columns.
const (
	manifestName = cache.Manifest
	columnsName  = "columns.arrow"
	usersName    = "users.arrow"
	itemsName    = "items.arrow"
	wordsName    = "words.arrow"
)

// New returns the slot of a read that begins now.
func New(a Request) *Slot {
	s := &Slot{Request: a, since: time.Now()}
	s.dir = filepath.Join(a.Folder, digest(append([]any{a.Version}, a.Key...))[:32])
	s.fingerprint, _ = s.currentState()
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

// currentState returns a fingerprint of the inputs in their current state, and the time of their last change.
func (s *Slot) currentState() (fingerprint string, changed time.Time) {
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

// Open returns the stored contents if there are any and all checksums match.
func (s *Slot) Open() (c *Contents, ok bool) {
	if s == nil {
		return nil, false
	}
	m, err := readManifest(filepath.Join(s.dir, manifestName))
	if err != nil || m.Version != s.Version || m.Fingerprint != s.fingerprint {
		return nil, false
	}
	l := &loader{dir: s.dir, m: m, meter: s.Meter, idles: s.Idles}
	s.Meter.Begin(progress.Part{Doing: "opening the stored columns of " + describeInputs(s.Inputs), Unit: "bytes",
		Total: m.bytes()})
	if c, err = l.load(); err != nil {
		_ = l.close()
		return nil, false
	}
	// marks it as used now; a folder that cannot be written is not trimmed
	_ = os.Chtimes(filepath.Join(s.dir, manifestName), s.since, s.since)
	return c, true
}

// describeInputs describes inputs in a few words.
func describeInputs(inputs []string) string {
	if len(inputs) > 1 {
		return fmt.Sprintf("%d files", len(inputs))
	}
	return filepath.Base(inputs[0])
}

// Close releases the columns.
func (c *Contents) Close() error {
	l := &loader{maps: c.maps}
	c.maps = nil
	return l.close()
}

// Idle lets the system reclaim resident memory. Pages are read from the disk again when needed.
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

// bytes returns the size of all files.
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

// A loader maps the files of a slot.
type loader struct {
	dir   string
	m     *manifest
	maps  []*columnfile.Mapping
	meter *progress.Meter
	idles bool // memory is released after it was checked
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

// sum returns the checksum of a file, which is read from the disk for it. It works in steps of some megabytes and
// checks the meter for cancellation after each.
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

// Changed begins the reasons for not storing an input that may be stored the next time.
const Changed = "the input changed"

// Store writes into the slot. It returns the problem, if there is one; a read never fails because of it.
func (s *Slot) Store(c *Contents) (problem string) {
	now, changed := s.currentState()
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

// write writes a new folder and moves it into the slot's place.
func (s *Slot) write(c *Contents) error {
	if err := os.MkdirAll(s.Folder, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(s.Folder, filepath.Base(s.dir)+".part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	m := &manifest{Version: s.Version, Fingerprint: s.fingerprint, Inputs: s.Inputs, Detected: c.Detected,
		Notes: c.Notes, Shape: c.Shape,
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

// replace renames a complete folder into the slot's place. If another process does the same at this moment, either
// folder is valid.
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

// A storer writes the files of a slot.
type storer struct {
	dir   string
	m     *manifest
	meter *progress.Meter
}

// storeStep is the number of bytes of a stored file that are written or summed between checks for cancellation.
const storeStep = 4 << 20

// size returns the approximate size of the stored columns in bytes.
func (c *Contents) size() int64 {
	of, ids := c.Columns, len(c.Users)+len(c.Items)+len(c.Words)
	return int64(4*(len(of.User)+len(of.Item)+len(
		of.Rating)+len(of.Label)+len(of.Dense)+len(of.Index)+len(of.Value)+len(of.Count)) +
		8*(len(of.Offset)+len(of.Time)) + 16*ids)
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
	return w.file(columnsName, func(f io.Writer) error {
		return columnfile.WriteColumns(f, c.Shape, c.Columns,
			c.Meta)
	})
}

func (w *storer) names(name string, ids []string) error {
	return w.file(name, func(f io.Writer) error { return columnfile.WriteNames(f, ids) })
}

// file writes one file, buffered, and lists it with its checksum and the places of its columns.
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
