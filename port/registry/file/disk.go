package file

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// disk is what the journal asks of the folder that it is in, so that tests can stop it at any step. Names have no folder.
type disk interface {
	// read returns a file's content, or fs.ErrNotExist.
	read(name string) ([]byte, error)
	// create makes an empty file for appending, in place of one of that name.
	create(name string) (file, error)
	// extend opens a file for appending.
	extend(name string) (file, error)
	rename(from, to string) error
	remove(name string) error
	// syncFolder makes what was created and renamed permanent.
	syncFolder() error
}

// file is open for appending.
type file interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// folder is a disk of the operating system, by its path.
type folder string

func (f folder) read(name string) ([]byte, error) { return os.ReadFile(filepath.Join(string(f), name)) }

func (f folder) create(name string) (file, error) { return f.open(name, os.O_CREATE|os.O_TRUNC) }

func (f folder) extend(name string) (file, error) { return f.open(name, 0) }

func (f folder) open(name string, flags int) (file, error) {
	return os.OpenFile(filepath.Join(string(f), name), os.O_WRONLY|os.O_APPEND|flags, 0o600)
}

func (f folder) rename(from, to string) error {
	return os.Rename(filepath.Join(string(f), from), filepath.Join(string(f), to))
}

func (f folder) remove(name string) error { return os.Remove(filepath.Join(string(f), name)) }

func (f folder) syncFolder() error { return syncFolder(string(f)) }

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
