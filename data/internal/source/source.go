// Package source opens the inputs of a read (files, globs, standard input) and returns their bytes, decompressed and
// within limits.
//
// The caller's duties, in order: Expand the names of the command with Places; Open each Input; inspect the stream's
// Head, read, and Close it. Errors are *lines.Error.
//
// Expand refuses URIs of unknown stores. Open refuses folders and unsupported file formats. Reading refuses a stream
// that decompresses to too many bytes.
package source

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

	"bellows"
	"bellows/data/internal/foreign"
	"bellows/data/internal/lines"
	"bellows/data/internal/pipe"
	"bellows/port/blob"
	"bellows/progress"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// stdinName is the input that stands for standard input.
const stdinName = "-"

// An Input is one file to read.
type Input struct {
	Name   string // as the user wrote it, or as the glob returned it
	Path   string // "" for standard input
	Size   int64
	Folder bool // a folder of images, whose Size is that of its files once they are found
	Pipe   bool // reading may block: standard input, or a file that is not regular

	Version string     // of a blob, perhaps Unversioned; "" for a file
	store   blob.Store // nil for a file
	blob    string     // its name in the store
}

// IsBlob reports whether the input is a blob instead of a file of this machine.
func (in Input) IsBlob() bool { return in.store != nil }

// Shown returns the name for messages.
func (in Input) Shown() string {
	if in.Path == "" {
		return "stdin"
	}
	return in.Name
}

// Expand resolves paths, URIs, globs and "-" to inputs, in the given order. The files of one glob are sorted by name.
func (p *Places) Expand(names []string) ([]Input, error) {
	var all []Input
	stdins := 0
	for _, name := range names {
		if name == "" {
			return nil, &lines.Error{File: "input", What: "the name of a file is empty",
				How: "name a file; perhaps a variable in the command has no value"}
		}
		if name == stdinName {
			if stdins++; stdins > 1 {
				return nil, &lines.Error{File: "stdin", What: "standard input is named twice", How: "name - once"}
			}
			all = append(all, Input{Name: name, Pipe: true})
			continue
		}
		found, err := p.expandPath(name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, &lines.Error{File: "input", What: "no input is named",
			How: "name a file, a glob, or - for standard input"}
	}
	return all, nil
}

func (p *Places) expandPath(name string) ([]Input, error) {
	if a := p.address(name); a != nil {
		return p.expand(a)
	}
	if what, how := foreign.Remote(name); what != "" {
		return nil, &lines.Error{File: name, What: what, How: how, Err: fs.ErrNotExist}
	}
	path := strings.TrimPrefix(name, "file://")
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return []Input{{Name: path, Path: path, Folder: true}}, nil
	}
	if in, err := Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(path, "*?[") {
		return []Input{in}, err
	}
	matches, err := filepath.Glob(path)
	if err != nil {
		return nil, &lines.Error{File: name, What: "is not a valid glob", How: "close every [ with a ]", Err: err}
	}
	if len(matches) == 0 {
		return nil, &lines.Error{File: name, What: "no file matches",
			How: "check the path; quote the glob so that the shell leaves it alone", Err: fs.ErrNotExist}
	}
	slices.Sort(matches)
	var all []Input
	for _, match := range matches {
		in, err := Stat(match)
		if err != nil {
			return nil, err
		}
		all = append(all, in)
	}
	return all, nil
}

// Named describes inputs in a few words.
func Named(ins []Input) string {
	if len(ins) > 1 {
		return fmt.Sprintf("%d files", len(ins))
	}
	return filepath.Base(ins[0].Shown())
}

// Size returns the stored bytes of all inputs, or 0 if the size of one is unknown.
func Size(ins []Input) (bytes int64) {
	for _, in := range ins {
		if in.Pipe {
			return 0
		}
		bytes += in.Size
	}
	return bytes
}

// Stat returns the file at a path.
func Stat(path string) (Input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Input{}, OpenError(path, err)
	}
	if info.IsDir() {
		return Input{}, IsFolder(path)
	}
	return Input{Name: path, Path: path, Size: info.Size(), Pipe: !info.Mode().IsRegular()}, nil
}

// IsFolder returns the error for a folder where a file is expected.
func IsFolder(path string) error {
	return &lines.Error{File: path, What: "is a folder", How: "name its files, for example " + Below(path)}
}

// PackedNames returns the possible names of a neighbouring file: the given one, and those with another compression.
func PackedNames(name string) []string {
	bare := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	others := slices.DeleteFunc([]string{bare, bare + ".gz", bare + ".zst"},
		func(other string) bool { return other == name })
	return append([]string{name}, others...)
}

// OpenError explains why a file cannot be opened.
func OpenError(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	e := &lines.Error{File: name, What: "cannot be opened: " + err.Error(), Err: err,
		How: "check the path and its permissions"}
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

// A Stream holds the decompressed bytes of one input. Its errors are *lines.Error.
type Stream struct {
	In      Input
	r       io.Reader
	Packing string // "gzip", "zstd" or ""
	closers []func() error
	taken   counter // bytes read from the file
	ahead   *bufio.Reader
	meter   *progress.Meter
	told    int64  // the part of taken that the meter has counted
	out     int64  // bytes returned, if compressed
	limit   int64  // on out; 0 derives it from taken
	Head    []byte // first bytes, to detect the format
}

// A counter counts the bytes that pass through a reader.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Options configure how an input is opened.
type Options struct {
	Stdin       io.Reader       // what "-" reads
	OutputBytes int64           // limit on the decompressed bytes of one file; 0 derives it from its compressed size
	Meter       *progress.Meter // counts the bytes read; nil: none

	// Takes accepts, by its first bytes, a file that is not text; nil: none.
	Takes func(head []byte) bool
}

// Open opens an input and detects its compression by magic bytes.
func Open(ctx context.Context, in Input, opt *Options) (*Stream, error) {
	if in.Folder {
		return nil, IsFolder(in.Name)
	}
	s := &Stream{In: in, limit: opt.OutputBytes, meter: opt.Meter}
	if in.Pipe {
		p := pipe.New(ctx, func() (io.ReadCloser, error) { return in.wait(opt) })
		s.taken.r = p
		s.closers = append(s.closers, p.Close)
	} else if in.IsBlob() {
		a, err := in.openBlob(ctx)
		if err != nil {
			return nil, err
		}
		s.taken.r = a
		s.closers = append(s.closers, a.Close)
	} else {
		f, err := os.Open(in.Path)
		if err != nil {
			return nil, OpenError(in.Name, err)
		}
		s.taken.r = f
		s.closers = append(s.closers, f.Close)
	}
	head := bufio.NewReaderSize(&s.taken, 64<<10)
	magic, err := head.Peek(8)
	if err != nil && err != io.EOF {
		s.Close()
		return nil, s.explain(err)
	}
	s.r, s.ahead = head, head
	if err = s.unpack(head, magic); err == nil {
		err = s.fillHead()
	}
	if err == nil && (opt.Takes == nil || !opt.Takes(s.Head)) {
		if what, how := foreign.Container(s.Head); what != "" {
			err = &lines.Error{File: s.In.Shown(), What: what, How: how}
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// wait opens an input whose reader may have to wait.
func (in Input) wait(opt *Options) (io.ReadCloser, error) {
	if in.Path == "" {
		return io.NopCloser(opt.Stdin), nil // others may read on from it
	}
	f, err := os.Open(in.Path)
	if err != nil {
		return nil, OpenError(in.Name, err)
	}
	return f, nil
}

func (s *Stream) unpack(head *bufio.Reader, magic []byte) error {
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		s.Packing = "gzip"
		z, err := foreign.NewMembers(head)
		if err != nil {
			return s.explain(err)
		}
		s.r = z
	case bytes.HasPrefix(magic, zstdMagic):
		s.Packing = "zstd"
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

// The default limit on decompressed bytes is OutputFloor plus outputRatio times the compressed bytes read so far. Text
// of zeros compresses about 1000 to 1, real data rarely beyond 50 to 1.
const (
	OutputFloor = 1 << 30
	outputRatio = 256
)

// Read returns decompressed bytes. Its errors are io.EOF or *lines.Error.
func (s *Stream) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.Packing != "" {
		s.out += int64(n)
		limit := s.limit
		if limit <= 0 {
			limit = OutputFloor + outputRatio*s.taken.n
		}
		if s.out > limit {
			return 0, &lines.Error{File: s.In.Shown(),
				What: fmt.Sprintf("its %s stream grows beyond %d bytes, from %d compressed", s.Packing, limit,
					s.taken.n),
				How: "decompress it first if it is what you expect"}
		}
	}
	if err != nil && err != io.EOF {
		err = s.explain(err)
	}
	if s.taken.n > s.told {
		_ = s.meter.Add(s.taken.n - s.told) // the goroutine that cuts the stream checks the context
		s.told = s.taken.n
	}
	return n, err
}

// explain converts the error of a read.
func (s *Stream) explain(err error) error {
	if known := (*lines.Error)(nil); errors.As(err, &known) {
		return known
	}
	if stored := (*bellows.Error)(nil); errors.As(err, &stored) || s.In.IsBlob() && errors.Is(err, context.Canceled) {
		return storeError(s.In.Shown(), err)
	}
	e := &lines.Error{File: s.In.Shown(), Err: err}
	switch {
	case s.Packing == "":
		e.What, e.How = "cannot be read: "+err.Error(), "check the disk or the pipe that it comes from"
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		e.What, e.How = fmt.Sprintf("its %s stream ends early, after %d bytes", s.Packing, s.taken.n),
			"the file is truncated; copy it again"
	case errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		e.What, e.How = "its zstd stream needs a window over 128 MiB", "compress it again without --ultra or --long"
	case s.out > 0 && (errors.Is(err, gzip.ErrHeader) || errors.Is(err, zstd.ErrMagicMismatch)):
		e.What, e.How = fmt.Sprintf("what follows its %s stream is not another one", s.Packing),
			"remove what was appended, or copy the file again"
	case errors.Is(err, foreign.ErrBehind):
		e.What, e.How = err.Error(), "remove what was appended, or copy the file again"
	case errors.Is(err, gzip.ErrHeader):
		e.What, e.How = "its gzip header is damaged", "copy the file again"
	case errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zstd.ErrCRCMismatch):
		e.What, e.How = fmt.Sprintf("its %s stream does not match its checksum", s.Packing),
			"the file is damaged; copy it again"
	default:
		e.What, e.How = fmt.Sprintf("its %s stream is damaged", s.Packing), "copy the file again"
	}
	return e
}

// Position returns the number of bytes of the file that have been used.
func (s *Stream) Position() int64 { return s.taken.n - int64(s.ahead.Buffered()) }

// Metered returns the number of bytes of the file that its meter has counted.
func (s *Stream) Metered() int64 { return s.told }

// Close closes the stream.
func (s *Stream) Close() error {
	var first error
	for _, c := range slices.Backward(s.closers) {
		if err := c(); err != nil && first == nil {
			first = err
		}
	}
	s.closers = nil
	return first
}

// fillHead reads the first bytes of the decompressed stream.
func (s *Stream) fillHead() error {
	head := make([]byte, foreign.HeadBytes)
	n, err := lines.ReadFull(s, head)
	if err != nil && err != io.EOF {
		return err
	}
	s.Head = head[:n]
	s.r = io.MultiReader(bytes.NewReader(slices.Clone(s.Head)), s.r)
	s.out -= int64(n)
	return nil
}
