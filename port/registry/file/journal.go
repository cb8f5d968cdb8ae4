package file

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"bellows"
	"bellows/port/registry"
	"bellows/port/registry/internal/keyspace"
)

// The files of a registry's folder.
const (
	logName  = "log"
	nextName = "log.next" // a snapshot that is to take the log's place
	lockName = "lock"
)

// The history that watches may be behind.
const (
	historyMost  = 1024
	historyBytes = 4 << 20
)

// growthBytes is how many bytes a log has more than twice its last snapshot when another snapshot takes its place.
const growthBytes = 1 << 20

// journal is the log on disk. One goroutine uses it.
//
// Invariant: log is nil, or open at the end of a file with a complete log of size bytes. log is nil after a failure that leaves the content of the file unknown: the next append begins with a snapshot in
// another file.
type journal struct {
	disk      disk
	growth    int64 // growthBytes, or less in tests
	log       file
	size      int64
	rewriteAt int64 // size of the log at which a snapshot takes its place
}

// openJournal opens the log of a disk, or begins one, and returns the state that it describes. A process that died may have left changes that are not on disk yet, so that the log is synced before it is read.
func openJournal(d disk, growth int64) (*journal, *keyspace.Space, error) {
	j := &journal{disk: d, growth: growth}
	if err := d.remove(nextName); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that died before it had its name
		return nil, nil, err
	}
	text, err := d.read(logName)
	if errors.Is(err, fs.ErrNotExist) {
		space := keyspace.New(0, historyMost, historyBytes)
		return j, space, j.rewrite(nil, 0)
	}
	if err != nil {
		return nil, nil, err
	}
	space, good, err := replay(text)
	if err != nil {
		return nil, nil, err
	}
	if j.log, err = d.extend(logName); err != nil {
		return nil, nil, err
	}
	if good < len(text) {
		err = j.log.Truncate(int64(good))
	}
	if err == nil {
		err = j.log.Sync()
	}
	if err == nil {
		err = d.syncFolder()
	}
	if err != nil {
		return nil, nil, errors.Join(err, j.close())
	}
	j.size = int64(good)
	j.rewriteAt = 2*space.Bytes() + j.growth
	return j, space, nil
}

// rewrite begins the log again with a snapshot. A crash leaves the old file or the new one.
func (j *journal) rewrite(entries []registry.Entry, at registry.Revision) error {
	text := snapshot(entries, at)
	j.rewriteAt = j.size + j.growth // if this fails, the next attempt is not at the next append
	next, err := j.disk.create(nextName)
	if err != nil {
		return err
	}
	if _, err = next.Write(text); err == nil {
		err = next.Sync()
	}
	if err != nil {
		return errors.Join(err, next.Close(), j.disk.remove(nextName))
	}
	old := j.log
	j.log = nil // unknown until the folder is synced
	err = j.disk.rename(nextName, logName)
	if err == nil {
		err = j.disk.syncFolder()
	}
	if old != nil {
		err = errors.Join(err, old.Close())
	}
	if err != nil {
		return errors.Join(err, next.Close())
	}
	j.log, j.size = next, int64(len(text))
	j.rewriteAt = 2*j.size + j.growth
	return nil
}

// append writes a record and syncs it. If it fails, the next append removes the record.
func (j *journal) append(r *record, space func() ([]registry.Entry, registry.Revision)) error {
	text := r.encode(nil)
	if j.log == nil || j.size+int64(len(text)) > j.rewriteAt {
		if err := j.rewrite(space()); err != nil && j.log == nil {
			return err
		}
	}
	if _, err := j.log.Write(text); err != nil {
		if wrong := j.log.Truncate(j.size); wrong != nil {
			err = errors.Join(err, wrong, j.close())
		}
		return err
	}
	if err := j.log.Sync(); err != nil { // the content of the file on disk is unknown
		return errors.Join(err, j.close())
	}
	j.size += int64(len(text))
	return nil
}

// close closes the log. All that append has acknowledged is on disk.
func (j *journal) close() error {
	if j.log == nil {
		return nil
	}
	err := j.log.Close()
	j.log = nil
	return err
}

// translated returns an error of the system as the port names it.
func translated(err error) error {
	if link := (*fs.PathError)(nil); errors.As(err, &link) {
		err = bellows.Pathless(err)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", registry.ErrFull, err)
	}
	return err
}
