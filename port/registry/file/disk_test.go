package file

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"sync"
)

// errStopped is what each step returns after the process has died.
var errStopped = errors.New("the process has died")

// memoryDisk is a disk that knows what a power cut leaves: what was synced, and of the rest as much as a test likes.
type memoryDisk struct {
	mu      sync.Mutex
	names   map[string]*memoryFile
	durable map[string]*memoryFile // names after a power cut
	steps   int
	// fail is asked before each step, with its number. It returns the step's error, and how many bytes of a failed write reach the file.
	fail func(step int, op string) (written int, err error)
}

type memoryFile struct {
	disk    *memoryDisk
	data    []byte
	durable []byte
}

func newDisk() *memoryDisk {
	return &memoryDisk{names: map[string]*memoryFile{}, durable: map[string]*memoryFile{}}
}

// step counts a step.
func (d *memoryDisk) step(op string) (written int, err error) {
	d.mu.Lock()
	d.steps++
	n, fail := d.steps, d.fail
	d.mu.Unlock()
	if fail == nil {
		return 0, nil
	}
	return fail(n, op)
}

func (d *memoryDisk) setFail(fail func(step int, op string) (int, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = fail
}

func (d *memoryDisk) read(name string) ([]byte, error) {
	f := d.names[name]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(f.data), nil
}

func (d *memoryDisk) create(name string) (file, error) {
	if _, err := d.step("create"); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &memoryFile{disk: d}
	d.names[name] = f
	return f, nil
}

func (d *memoryDisk) extend(name string) (file, error) {
	if d.names[name] == nil {
		return nil, fs.ErrNotExist
	}
	return d.names[name], nil
}

func (d *memoryDisk) rename(from, to string) error {
	if _, err := d.step("rename"); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[to] = d.names[from]
	delete(d.names, from)
	return nil
}

func (d *memoryDisk) remove(name string) error {
	if _, err := d.step("remove"); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] == nil {
		return fs.ErrNotExist
	}
	delete(d.names, name)
	return nil
}

func (d *memoryDisk) syncFolder() error {
	if _, err := d.step("sync folder"); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.durable = maps.Clone(d.names)
	return nil
}

func (f *memoryFile) Write(text []byte) (int, error) {
	n, err := f.disk.step("write")
	if err == nil {
		n = len(text)
	}
	n = min(n, len(text))
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.data = append(f.data, text[:n]...)
	return n, err
}

func (f *memoryFile) Sync() error {
	if _, err := f.disk.step("sync"); err != nil {
		return err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.durable = bytes.Clone(f.data)
	return nil
}

func (f *memoryFile) Truncate(size int64) error {
	if _, err := f.disk.step("truncate"); err != nil {
		return err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.data = f.data[:size:size]
	return nil
}

func (f *memoryFile) Close() error { return nil }

// powerCut returns what a power cut may leave, one of cuts disks: names and contents that were not synced are there or not, or contents in part, or with zeros in the place of the last part.
func (d *memoryDisk) powerCut(which int) *memoryDisk {
	left := newDisk()
	names := d.durable
	if which%2 == 1 {
		names = d.names
	}
	for name, f := range names {
		text := bytes.Clone(f.durable)
		if more := len(f.data) - len(text); more > 0 && bytes.HasPrefix(f.data, text) {
			switch which / 2 {
			case 1:
				text = bytes.Clone(f.data)
			case 2:
				text = bytes.Clone(f.data[:len(text)+more/2])
			case 3:
				text = append(bytes.Clone(f.data[:len(text)+more/2]), make([]byte, more-more/2)...)
			}
		} else if which/2 == 1 {
			text = bytes.Clone(f.data)
		}
		left.names[name] = &memoryFile{disk: left, data: text, durable: bytes.Clone(text)}
	}
	left.durable = maps.Clone(left.names)
	return left
}

const cuts = 8
