package data

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellows/data/internal/foreign"
	"bellows/progress"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// stdinName is the input that stands for standard input.
const stdinName = "-"

// input is one file to read. Its fields identify its content for the cache.
type input struct {
	name  string // as the user wrote it, or as the glob gave it
	path  string // "" for standard input
	size  int64
	mtime int64 // nanoseconds
	pipe  bool  // whoever reads it may have to wait: standard input, a file that is not regular
}

// shown is the name in messages.
func (in input) shown() string {
	if in.path == "" {
		return "stdin"
	}
	return in.name
}

// expand resolves paths, globs and "-" to inputs, in the order given, the
// files of one glob sorted by name.
func expand(names []string) ([]input, error) {
	var all []input
	stdins := 0
	for _, name := range names {
		if name == "" {
			return nil, &Error{File: "input", What: "the name of a file is empty", How: "name a file; perhaps a variable in the command has no value"}
		}
		if name == stdinName {
			if stdins++; stdins > 1 {
				return nil, &Error{File: "stdin", What: "standard input is named twice", How: "name - once"}
			}
			all = append(all, input{name: name, pipe: true})
			continue
		}
		found, err := expandPath(name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, &Error{File: "input", What: "no input is named", How: "name a file, a glob, or - for standard input"}
	}
	return all, nil
}

func expandPath(name string) ([]input, error) {
	if what, how := foreign.Remote(name); what != "" {
		return nil, &Error{File: name, What: what, How: how, Err: fs.ErrNotExist}
	}
	path := strings.TrimPrefix(name, "file://")
	if in, err := stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(path, "*?[") {
		return []input{in}, err
	}
	matches, err := filepath.Glob(path)
	if err != nil {
		return nil, &Error{File: name, What: "is not a valid glob", How: "close every [ with a ]", Err: err}
	}
	if len(matches) == 0 {
		return nil, &Error{File: name, What: "no file matches", How: "check the path; quote the glob so that the shell leaves it alone", Err: fs.ErrNotExist}
	}
	slices.Sort(matches)
	var all []input
	for _, match := range matches {
		in, err := stat(match)
		if err != nil {
			return nil, err
		}
		all = append(all, in)
	}
	return all, nil
}

func stat(path string) (input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return input{}, openError(path, err)
	}
	if info.IsDir() {
		return input{}, &Error{File: path, What: "is a folder", How: "name its files, for example " + filepath.Join(path, "*")}
	}
	return input{name: path, path: path, size: info.Size(), mtime: info.ModTime().UnixNano(), pipe: !info.Mode().IsRegular()}, nil
}

// packings are the names that a neighbour of that name may have: this one, and packed or not.
func packings(name string) []string {
	bare := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	others := slices.DeleteFunc([]string{bare, bare + ".gz", bare + ".zst"}, func(other string) bool { return other == name })
	return append([]string{name}, others...)
}

// statAny is the first of the names that is there.
func statAny(names []string) (in input, found bool) {
	for _, name := range names {
		if in, err := stat(name); err == nil {
			return in, true
		}
	}
	return input{}, false
}

// openError explains why a file cannot be opened.
func openError(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	e := &Error{File: name, What: "cannot be opened: " + err.Error(), Err: err, How: "check the path and its permissions"}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.What, e.How = "there is no such file", "check the path; it is relative to the working directory"
	case errors.Is(err, fs.ErrPermission):
		e.What, e.How = "may not be read by this user", "change its permissions"
	}
	return e
}

// Magic bytes of compressed streams.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// stream is the decompressed bytes of one input. Its errors are *Error.
type stream struct {
	in      input
	r       io.Reader
	packing string // "gzip", "zstd" or ""
	closers []func() error
	taken   counter // bytes read from the file
	ahead   *bufio.Reader
	meter   *progress.Meter
	told    int64  // of taken, to the meter
	out     int64  // bytes given, when packed
	limit   int64  // on out; 0 derives it from taken
	head    []byte // first bytes, for telling formats apart
}

// counter counts the bytes that pass through a reader.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// openStream opens an input and finds its compression by magic bytes.
func openStream(ctx context.Context, in input, opt *Options) (*stream, error) {
	s := &stream{in: in, limit: opt.Limits.OutputBytes, meter: opt.Meter}
	if in.pipe {
		p := newPipe(ctx, func() (io.ReadCloser, error) { return in.wait(opt) })
		s.taken.r = p
		s.closers = append(s.closers, p.close)
	} else {
		f, err := os.Open(in.path)
		if err != nil {
			return nil, openError(in.name, err)
		}
		s.taken.r = f
		s.closers = append(s.closers, f.Close)
	}
	head := bufio.NewReaderSize(&s.taken, 64<<10)
	magic, err := head.Peek(8)
	if err != nil && err != io.EOF {
		s.close()
		return nil, s.explain(err)
	}
	s.r, s.ahead = head, head
	if err = s.unpack(head, magic); err == nil {
		err = s.fillHead()
	}
	if err == nil {
		if what, how := foreign.Container(s.head); what != "" {
			err = &Error{File: s.in.shown(), What: what, How: how}
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// wait opens an input that may keep its reader waiting.
func (in input) wait(opt *Options) (io.ReadCloser, error) {
	if in.path == "" {
		return io.NopCloser(opt.stdin()), nil // others may read on
	}
	f, err := os.Open(in.path)
	if err != nil {
		return nil, openError(in.name, err)
	}
	return f, nil
}

func (s *stream) unpack(head *bufio.Reader, magic []byte) error {
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		s.packing = "gzip"
		z, err := foreign.NewMembers(head)
		if err != nil {
			return s.explain(err)
		}
		s.r = z
	case bytes.HasPrefix(magic, zstdMagic):
		s.packing = "zstd"
		z, err := zstd.NewReader(head, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return s.explain(err)
		}
		s.r = z
		s.closers = append(s.closers, func() error { z.Close(); return nil })
	}
	return nil
}

// The default bound on decompressed bytes: outputFloor plus outputRatio times
// the compressed bytes read so far. Text of zeros packs about 1000 to 1, real
// data rarely beyond 50 to 1.
const (
	outputFloor = 1 << 30
	outputRatio = 256
)

// Read gives decompressed bytes. Its errors are io.EOF or *Error.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.packing != "" {
		s.out += int64(n)
		limit := s.limit
		if limit <= 0 {
			limit = outputFloor + outputRatio*s.taken.n
		}
		if s.out > limit {
			return 0, &Error{File: s.in.shown(),
				What: fmt.Sprintf("its %s stream grows beyond %d bytes, from %d compressed", s.packing, limit, s.taken.n),
				How:  "decompress it first if it is what you expect"}
		}
	}
	if err != nil && err != io.EOF {
		err = s.explain(err)
	}
	if s.taken.n > s.told {
		_ = s.meter.Add(s.taken.n - s.told) // whoever cuts the stream into blocks asks the context
		s.told = s.taken.n
	}
	return n, err
}

// explain says what a failed read means.
func (s *stream) explain(err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	e := &Error{File: s.in.shown(), Err: err}
	switch {
	case s.packing == "":
		e.What, e.How = "cannot be read: "+err.Error(), "check the disk or the pipe that it comes from"
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		e.What, e.How = fmt.Sprintf("its %s stream ends early, after %d bytes", s.packing, s.taken.n), "the file is truncated; copy it again"
	case errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		e.What, e.How = "its zstd stream needs a window over 128 MiB", "compress it again without --ultra or --long"
	case s.out > 0 && (errors.Is(err, gzip.ErrHeader) || errors.Is(err, zstd.ErrMagicMismatch)):
		e.What, e.How = fmt.Sprintf("what follows its %s stream is not another one", s.packing), "remove what was appended, or copy the file again"
	case errors.Is(err, foreign.ErrBehind):
		e.What, e.How = err.Error(), "remove what was appended, or copy the file again"
	case errors.Is(err, gzip.ErrHeader):
		e.What, e.How = "its gzip header is damaged", "copy the file again"
	case errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zstd.ErrCRCMismatch):
		e.What, e.How = fmt.Sprintf("its %s stream does not match its checksum", s.packing), "the file is damaged; copy it again"
	default:
		e.What, e.How = fmt.Sprintf("its %s stream is damaged", s.packing), "copy the file again"
	}
	return e
}

// position is how many bytes of the file have been used.
func (s *stream) position() int64 { return s.taken.n - int64(s.ahead.Buffered()) }

func (s *stream) close() error {
	var first error
	for _, c := range slices.Backward(s.closers) {
		if err := c(); err != nil && first == nil {
			first = err
		}
	}
	s.closers = nil
	return first
}
