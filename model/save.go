package model

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bellows"
	"bellows/progress"
)

// nextSuffix marks files of a model that is being written. The rename of the new manifest to manifest.json.next is the
// moment at which the new model replaces the old one. Before it, Open reads the old files. After it, Open reads each
// file under its marked name if that exists. The renames that follow only tidy up; the next Save finishes them if they
// were interrupted. (One rename per file without this step would leave, after a crash in the middle, neither model
// readable.)
const (
	nextSuffix    = ".next"
	partialSuffix = ".partial" // the new manifest before its rename
)

// disk is the part of a file system that Save uses, so that tests can stop it at any step.
//
// Its states, by the manifests in a folder: none or the old one, while new files are written next to the old ones; the
// old one and the marked one, from when the new model is in force; the new one, after all marked files have their
// names.
//
// Invariant: in each state, and whatever step a crash interrupts, Open reads one complete model, the old or the new
// (TestSaveIsWholeOrNothing).
//
// Rejected: a new folder renamed over the old one, which would remove other files of the user and is not atomic if the
// old folder is not empty.
type disk struct {
	create  func(name string) (output, error)
	rename  func(from, to string) error
	remove  func(name string) error
	syncDir func(dir string) error
}

type output interface {
	io.WriteCloser
	Sync() error
}

var realDisk = disk{
	create:  func(name string) (output, error) { return os.Create(name) },
	rename:  os.Rename,
	remove:  os.Remove,
	syncDir: syncDir,
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Save writes the model into dir, which it creates if needed. If Save fails, or the machine stops in the middle, the
// model that dir held before is still there. If it returns nil, the new one is on the disk. Save never overwrites a
// file with a list of ids that does not belong to a model. Errors are of kind CannotWrite, or Bug for an inconsistent
// model.
func Save(dir string, m *Model) error { return SaveWith(dir, m, nil) }

// SaveWith saves like Save, and counts the bytes of tensors and ids in a new part of the meter. The meter's context
// does not end it.
func SaveWith(dir string, m *Model, meter *progress.Meter) error {
	meter.Begin(progress.Part{Doing: "saving the model", Unit: "bytes", Total: m.size()})
	d := realDisk
	d.create = func(name string) (output, error) {
		f, err := os.Create(name)
		if err != nil {
			return nil, err
		}
		return metered{f, meter.Counts(f)}, nil
	}
	return d.save(dir, m)
}

// metered is a file that counts its bytes.
type metered struct {
	*os.File
	counts io.Writer
}

func (f metered) Write(b []byte) (int, error) { return f.counts.Write(b) }

// size returns the approximate number of bytes that Save writes.
func (m *Model) size() (n int64) {
	for i := range m.Tensors {
		n += int64(len(m.Tensors[i].bytes()))
	}
	for i := range m.IDs {
		for _, name := range m.IDs[i].Names {
			n += int64(len(name)) + 1
		}
	}
	return n
}

func (d disk) save(dir string, m *Model) error {
	if err := m.validate(); err != nil {
		return bellows.Errorf(bellows.Bug, "save model", dir, "%w", err)
	}
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = d.replace(dir, m)
	}
	if err != nil {
		return &bellows.Error{Kind: bellows.CannotWrite, Op: "save model", Subject: dir, Err: err,
			Hint: "free some space or choose another folder with --out; what was there before is untouched"}
	}
	return nil
}

// replace writes the new files next to the old ones, commits, and tidies up.
func (d disk) replace(dir string, m *Model) error {
	if err := d.finish(dir); err != nil {
		return err
	}
	if err := spare(dir, m.IDs); err != nil {
		return err
	}
	text, err := d.files(dir, m)
	if err != nil {
		for _, name := range append([]string{tensorsFile}, idFiles(m.IDs)...) {
			_ = d.remove(filepath.Join(dir, name+nextSuffix)) // half of a model is of no use
		}
		return err
	}
	return d.publish(dir, text)
}

// spare refuses to write lists of ids over files of the same names that belong to no model.
func spare(dir string, lists []IDs) error {
	held := FilesIn(dir)
	for _, name := range idFiles(lists) {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil && !slices.Contains(held, name) {
			return fmt.Errorf("the file %s is there and is no model's: move it away", name)
		}
	}
	return nil
}

func idFiles(lists []IDs) (names []string) {
	for _, ids := range lists {
		names = append(names, ids.File)
	}
	return names
}

// FilesIn lists the files of the model in dir, including those of an interrupted save: the files that the next Save may
// replace. It returns nothing without a readable manifest.
func FilesIn(dir string) (names []string) {
	for _, suffix := range []string{"", nextSuffix} {
		if m := manifestIn(dir, suffix); m != nil {
			names = append(names, manifestFile+nextSuffix+partialSuffix)
			for _, f := range append(m.Files, File{Name: manifestFile}) {
				names = append(names, f.Name, f.Name+nextSuffix)
			}
		}
	}
	return names
}

// manifestIn returns the manifest with a suffix, or nil if there is none that can be read.
func manifestIn(dir, suffix string) *manifest {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile+suffix))
	if err != nil {
		return nil
	}
	m, err := parseManifest(text)
	if err != nil {
		return nil
	}
	return m
}

// files writes all files of a model, except its manifest, under their marked names. It returns the text of the
// manifest.
func (d disk) files(dir string, m *Model) (text []byte, err error) {
	next := manifest{
		App: m.App, Settings: m.Settings, Metrics: finite(m.Metrics), Details: m.Details, Input: m.Input,
		Versions: m.Versions,
	}
	tensors, err := d.write(filepath.Join(dir, tensorsFile+nextSuffix), func(w io.Writer) error {
		return writeTensors(w, m.Tensors)
	})
	if err != nil {
		return nil, err
	}
	tensors.Name = tensorsFile
	next.Files = append(next.Files, tensors)
	for _, ids := range m.IDs {
		quoted := needsQuotes(ids.Names)
		f, err := d.write(filepath.Join(dir, ids.File+nextSuffix), func(w io.Writer) error {
			return writeNames(w, ids.Names, quoted)
		})
		if err != nil {
			return nil, err
		}
		f.Name, f.IDs, f.Quoted = ids.File, len(ids.Names), quoted
		next.Files = append(next.Files, f)
	}
	return next.encode()
}

// write writes one file, syncs it to the disk, and returns its size and sum.
func (d disk) write(name string, content func(io.Writer) error) (File, error) {
	out, err := d.create(name)
	if err != nil {
		return File{}, err
	}
	sum, size := sha256.New(), &counter{}
	b := bufio.NewWriterSize(io.MultiWriter(out, sum, size), chunkBytes)
	err = content(b)
	for _, step := range []func() error{b.Flush, out.Sync} {
		if err == nil {
			err = step()
		}
	}
	err = errors.Join(err, out.Close())
	return File{Bytes: size.n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

// publish puts the manifest in force and renames the new files.
func (d disk) publish(dir string, manifest []byte) error {
	partial := filepath.Join(dir, manifestFile+nextSuffix+partialSuffix)
	_, err := d.write(partial, func(w io.Writer) error { _, err := w.Write(manifest); return err })
	if err != nil {
		return err
	}
	if err := d.syncDir(dir); err != nil {
		return err
	}
	if err := d.rename(partial, filepath.Join(dir, manifestFile+nextSuffix)); err != nil {
		return err
	}
	if err := d.syncDir(dir); err != nil {
		return err
	}
	return d.finish(dir)
}

// finish removes id files of the old model that the committed model lacks, and renames the new files, the manifest
// last: until then the old manifest lists a model's files. Marked files without a marked manifest were never committed;
// they stay until they are overwritten.
func (d disk) finish(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile+nextSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	m, err := parseManifest(text)
	if err != nil {
		return d.remove(filepath.Join(dir, manifestFile+nextSuffix))
	}
	for _, name := range staleIDFiles(dir, m.Files) {
		if err := d.remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, f := range append(m.Files, File{Name: manifestFile}) {
		name := filepath.Join(dir, f.Name)
		if err := d.rename(name+nextSuffix, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.syncDir(dir)
}

// staleIDFiles lists the id files of the model in dir that are not among the new ones.
func staleIDFiles(dir string, files []File) []string {
	old := manifestIn(dir, "")
	if old == nil {
		return nil
	}
	stay := map[string]bool{}
	for _, f := range files {
		stay[f.Name] = true
	}
	var gone []string
	for _, f := range old.Files {
		if !stay[f.Name] {
			gone = append(gone, f.Name)
		}
	}
	return gone
}

// A counter counts the bytes written to it.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
