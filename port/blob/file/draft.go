package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// disk is what is done to a file system when a file is written, so that tests can stop it at any step.
type disk struct {
	create   func(name string, flags int) (*os.File, error)
	sync     func(f *os.File) error
	rename   func(from, to string) error
	linkOnly func(from, to string) error
	remove   func(name string) error
	mkdir    func(name string) error
	syncDir  func(name string) error
}

var realDisk = disk{
	create: func(name string, flags int) (*os.File, error) {
		return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|flags, 0o666)
	},
	sync:     (*os.File).Sync,
	rename:   os.Rename,
	linkOnly: os.Link,
	remove:   os.Remove,
	mkdir:    func(name string) error { return os.Mkdir(name, 0o777) },
	syncDir:  syncDir,
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// mkdirAll makes a folder and those above it, for good: the folder of each new one is synced.
func (d *disk) mkdirAll(name string) error {
	var missing []string
	for p := filepath.Clean(name); ; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err == nil && info.IsDir() || p == filepath.Dir(p) {
			break
		}
		missing = append(missing, p)
	}
	for _, p := range slices.Backward(missing) {
		if err := d.mkdir(p); err != nil {
			if info, looked := os.Stat(p); !errors.Is(err, fs.ErrExist) || looked != nil || !info.IsDir() {
				return err
			}
		}
		if err := d.syncDir(filepath.Dir(p)); err != nil {
			return err
		}
	}
	return nil
}

// link renames a file if no file has the new name.
func (d *disk) link(from, to string) error {
	if err := d.linkOnly(from, to); err != nil {
		return err
	}
	return d.remove(from)
}

// draft is a file that is being written, under a hidden name next to its own.
//
// States: written, when no other process uses it; named, by rename or link, when every process sees it complete; gone.
//
// Invariant: whatever step fails or is interrupted, the file with the name is complete, the old or the new
// (TestAFileIsWholeOrNothing).
type draft struct {
	disk *disk
	file *os.File
	name string // that it is to have
}

// begin makes a draft of the file called name, in a folder that is there.
func (d *disk) begin(name string) (*draft, error) {
	sweep(filepath.Dir(name), time.Now())
	return d.draft(draftName(name), name, os.O_EXCL)
}

func (d *disk) draft(hidden, name string, flags int) (*draft, error) {
	f, err := d.create(hidden, flags)
	if err != nil {
		return nil, err
	}
	return &draft{d, f, name}, nil
}

// publish gives the file its name, by rename or link.
func (d *draft) publish(name func(from, to string) error) error {
	err := d.disk.sync(d.file)
	if err = errors.Join(err, d.file.Close()); err == nil {
		err = name(d.file.Name(), d.name)
	}
	if err != nil {
		_ = d.disk.remove(d.file.Name()) // half a file is of no use
		return err
	}
	return d.disk.syncDir(filepath.Dir(d.name))
}

// drop gives the draft up.
func (d *draft) drop() error {
	return errors.Join(d.file.Close(), d.disk.remove(d.file.Name()))
}

// Replace writes one file, by its path, whole or not at all: content writes what it is to have. Its folder must be there. One at a time may replace a file:
// what a killed one leaves, the hidden file .NAME.part, is the next one's. Errors are the system's, or content's.
func Replace(name string, content func(w io.Writer) error) error {
	return realDisk.replace(name, content)
}

func (d disk) replace(name string, content func(w io.Writer) error) error {
	draft, err := d.draft(filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".part"), name, os.O_TRUNC)
	if err != nil {
		return err
	}
	if err := content(draft.file); err != nil {
		_ = draft.drop()
		return err
	}
	return draft.publish(d.rename)
}

// inOrder sorts a folder's entries in the order of the names below them: a folder by its name followed by a slash.
func inOrder(entries []fs.DirEntry) []fs.DirEntry {
	name := func(e fs.DirEntry) string {
		if e.IsDir() {
			return e.Name() + "/"
		}
		return e.Name()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(name(a), name(b)) })
	return entries
}
