// Package file stores blobs in a folder of the file system: a blob is the file of its name below it.
//
// Open a Store by a URI such as file:///home/me/bellows, or by At with the folder's path; it is made with the first
// blob. Replace is for callers with one file to write, and no store.
//
// A blob is written to a hidden file next to its place, synced, and renamed; then the folder is synced. The next writer
// to the same folder a day later removes what a killed writer leaves.
//
// The package refuses nothing that the port allows. It reads no hidden files except those that it has written.
package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"bellows"
	"bellows/port/blob"
)

// Store is a folder with blobs.
type Store struct {
	folder string
	disk   disk
}

// At returns the store in a folder, by its path.
func InFolder(folder string) *Store { return &Store{folder, realDisk} }

// Open returns the store of a URI with an absolute path and nothing else. Errors are of kind Config.
func Open(_ context.Context, at *url.URL) (blob.Store, error) {
	if at.Host != "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" || !path.IsAbs(at.Path) {
		return nil, bellows.Errorf(bellows.Config, "open storage", at.Redacted(), "a file's URI has an absolute path, and nothing else").
			Hinted("write it with three slashes, such as file:///folder")
	}
	return InFolder(filepath.FromSlash(at.Path)), nil
}

// URI implements blob.Store.
func (s *Store) URI(name string) string {
	folder := s.folder
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	return (&url.URL{Scheme: "file", Path: path.Join(filepath.ToSlash(folder), name)}).String()
}

func (s *Store) path(name string) string { return filepath.Join(s.folder, filepath.FromSlash(name)) }

// fault converts an error of the system to one of the port.
func (s *Store) fault(op, name string, err error) error {
	return blob.Fault(op, s.URI(name), translated(err))
}

// translated converts an error of the system to the port's sentinel errors.
func translated(err error) error {
	if linked := (*os.LinkError)(nil); errors.As(err, &linked) {
		err = linked.Err // its paths are those of a draft
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", blob.ErrFull, bellows.Pathless(err))
	}
	return err
}

// Create implements blob.Store.
func (s *Store) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := blob.CheckName(name); err != nil {
		return nil, err
	}
	err := ctx.Err()
	if err == nil {
		err = s.disk.mkdirAll(filepath.Dir(s.path(name)))
	}
	if err != nil {
		return nil, s.fault("create", name, err)
	}
	d, err := s.disk.begin(s.path(name))
	if err != nil {
		return nil, s.fault("create", name, err)
	}
	return &writer{ctx: ctx, store: s, name: name, draft: d}, nil
}

// Open implements blob.Store.
func (s *Store) Open(ctx context.Context, name string) (blob.Reader, error) {
	info, err := s.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(s.path(name))
	if err != nil {
		return nil, s.fault("open", name, err)
	}
	now, err := f.Stat() // of what was opened: it may have been replaced since
	if err != nil {
		return nil, errors.Join(s.fault("open", name, err), f.Close())
	}
	info.Bytes = now.Size()
	return &reader{ctx, s, f, info}, nil
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, name string) (blob.Info, error) {
	if err := blob.CheckName(name); err != nil {
		return blob.Info{}, err
	}
	err := ctx.Err()
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(s.path(name))
	}
	if err == nil && !info.Mode().IsRegular() || errors.Is(err, syscall.ENOTDIR) {
		err = fs.ErrNotExist // a folder is no blob, and a file has none below it
	}
	if err != nil {
		return blob.Info{}, s.fault("look at", name, err)
	}
	return blob.Info{Name: name, Bytes: info.Size()}, nil
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		above, _ := path.Split(prefix)
		if path.Clean(above) != strings.TrimSuffix(above, "/") && above != "" {
			return // no blob is called so
		}
		s.list(ctx, above, prefix, yield)
	}
}

// list walks a folder, "" or a name followed by a slash, and reports whether to continue.
func (s *Store) list(ctx context.Context, folder, prefix string, yield func(blob.Info, error) bool) bool {
	refuse := func(err error) bool {
		yield(blob.Info{}, s.fault("list", folder, err))
		return false
	}
	if ctx.Err() != nil {
		return refuse(ctx.Err())
	}
	entries, err := os.ReadDir(s.path(folder))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return true
	}
	if err != nil {
		return refuse(err)
	}
	for _, e := range inOrder(entries) {
		name := folder + e.Name()
		switch {
		case blob.CheckName(name) != nil: // it is not ours
		case e.IsDir():
			name += "/"
			if (strings.HasPrefix(name, prefix) || strings.HasPrefix(prefix, name)) && !s.list(ctx, name, prefix, yield) {
				return false
			}
		case strings.HasPrefix(name, prefix):
			info, err := s.Stat(ctx, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it went
			}
			if !yield(info, err) || err != nil {
				return false
			}
		}
	}
	return true
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := blob.CheckName(name); err != nil {
		return err
	}
	err := ctx.Err()
	if err == nil {
		err = os.Remove(s.path(name))
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err == nil {
		err = s.disk.syncDir(filepath.Dir(s.path(name)))
	}
	return s.fault("delete", name, err)
}

type reader struct {
	ctx   context.Context
	store *Store
	file  *os.File
	info  blob.Info
}

func (r *reader) Bytes() int64 { return r.info.Bytes }

func (r *reader) ReadAt(p []byte, at int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, r.store.fault("read", r.info.Name, err)
	}
	n, err := r.file.ReadAt(p, at)
	switch {
	case errors.Is(err, os.ErrClosed):
		err = blob.ErrClosed
	case err == io.EOF:
		return n, err
	}
	return n, r.store.fault("read", r.info.Name, err)
}

func (r *reader) Close() error { return r.store.fault("close", r.info.Name, r.file.Close()) }

type writer struct {
	ctx   context.Context
	store *Store
	name  string
	draft *draft // nil: closed
}

func (w *writer) Write(p []byte) (n int, err error) {
	switch {
	case w.draft == nil:
		err = blob.ErrClosed
	case w.ctx.Err() != nil:
		err = w.ctx.Err()
	default:
		n, err = w.draft.file.Write(p)
	}
	return n, w.store.fault("write", w.name, err)
}

func (w *writer) Publish() error    { return w.publish(w.store.disk.rename) }
func (w *writer) PublishNew() error { return w.publish(w.store.disk.link) }

func (w *writer) publish(name func(from, to string) error) error {
	d := w.draft
	if d == nil {
		return w.store.fault("write", w.name, blob.ErrClosed)
	}
	w.draft = nil
	err := w.ctx.Err()
	if err != nil {
		err = errors.Join(err, d.drop())
	} else {
		err = d.publish(name)
	}
	return w.store.fault("write", w.name, err)
}

func (w *writer) Close() error {
	d := w.draft
	if d == nil {
		return nil
	}
	w.draft = nil
	return w.store.fault("write", w.name, d.drop())
}

// RemoveDrafts removes what writers that were killed have left in a folder, however lately. Nobody may be writing there.
func RemoveDrafts(folder string) { sweep(folder, time.Now().Add(abandoned)) }

// draftForm is the name of an unfinished file; abandoned is the age at which it is removed.
var draftForm = regexp.MustCompile(`^\..+\.part-[A-Z2-7]{26}$`)

const abandoned = 24 * time.Hour

// sweep removes what killed writers left in a folder long ago.
func sweep(folder string, now time.Time) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !draftForm.MatchString(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) >= abandoned {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// draftName returns a hidden name next to a file's, which no other writer uses.
func draftName(name string) string {
	return filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".part-"+rand.Text())
}
