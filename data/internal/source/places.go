package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"bellows"
	"bellows/data/internal/lines"
	"bellows/port/blob"
)

// Schemes maps the schemes of URIs to functions that open their stores.
type Schemes = blob.Schemes

// Places are the places of inputs besides the files of this machine: stores of blobs, by the schemes of their URIs,
// such as s3://bucket/name?region=eu-north-1. The query after the first ? opens the store; a second blob of the same
// bucket may leave it out. A nil Places has no stores. It is not safe for concurrent use.
type Places struct {
	ctx     context.Context
	schemes Schemes
	stores  map[string]opened // by scheme and bucket
}

// opened is a store with the query that opened it.
type opened struct {
	blob.Store
	query string
}

// NewPlaces returns places with the stores of some schemes.
func NewPlaces(ctx context.Context, schemes Schemes) *Places {
	return &Places{ctx: ctx, schemes: schemes, stores: map[string]opened{}}
}

// Unversioned is the version of a blob whose store reports none.
const Unversioned = "?"

// globMost bounds the names of a bucket that are listed for a glob.
const globMost = 1_000_000

// An address is the parts of a URI of a known store.
type address struct{ bucket, name, query string }

// shown returns the address as messages show it, which is also the input's path.
func (a *address) shown() string { return a.bucket + "/" + a.name }

// address parses a URI. It returns nil for other strings and for unknown stores.
func (p *Places) address(uri string) *address {
	scheme, rest, found := strings.Cut(uri, "://")
	scheme = strings.ToLower(scheme)
	if p == nil || !found || p.schemes[scheme] == nil {
		return nil
	}
	rest, query, _ := strings.Cut(rest, "?")
	bucket, name, _ := strings.Cut(rest, "/")
	return &address{scheme + "://" + bucket, name, query}
}

// Knows reports whether a URI belongs to a known store.
func (p *Places) Knows(uri string) bool { return p.address(uri) != nil }

// store opens the store of an address, once.
func (p *Places) store(a *address) (blob.Store, error) {
	known, found := p.stores[a.bucket]
	switch {
	case found && (a.query == "" || a.query == known.query):
		return known, nil
	case found:
		return nil, &lines.Error{File: a.shown(), What: "the bucket was named before with " +
			cmp.Or(bellows.Printable(known.query, 200), "nothing") + " behind ?, and now with " +
			bellows.Printable(a.query, 200),
			How: "give the same query for each of its objects, or once"}
	}
	uri := a.bucket
	if a.query != "" {
		uri += "?" + a.query
	}
	s, err := p.schemes.Open(p.ctx, uri)
	if err != nil {
		return nil, storeError(blob.Shown(a.shown()), err)
	}
	p.stores[a.bucket] = opened{s, a.query}
	return s, nil
}

// expand expands one URI.
func (p *Places) expand(a *address) ([]Input, error) {
	s, err := p.store(a)
	if err != nil {
		return nil, err
	}
	fail := func(what, how string, err error) ([]Input, error) {
		return nil, &lines.Error{File: a.shown(), What: what, How: how, Err: err}
	}
	if a.name == "" {
		return fail("names a bucket, and none of its objects", "name objects, for example "+a.bucket+"/*",
			fs.ErrNotExist)
	}
	folder := strings.TrimRight(a.name, "/")
	in, err := p.stat(&address{a.bucket, folder, ""})
	literal := strings.IndexAny(a.name, "*[")
	switch {
	case err == nil && folder == a.name:
		return []Input{in}, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case literal < 0:
		for _, err := range s.List(p.ctx, folder+"/") {
			if err != nil {
				return nil, storeError(a.shown(), err)
			}
			return fail("is a folder", "name its objects, for example "+a.bucket+"/"+folder+"/*", fs.ErrNotExist)
		}
		return fail("there is no such object", missingObjectHint, fs.ErrNotExist)
	}
	if _, err := path.Match(a.name, ""); err != nil {
		return fail("is not a valid glob", "close every [ with a ]", err)
	}
	var all []Input
	looked := 0
	for info, err := range s.List(p.ctx, a.name[:literal]) {
		if err != nil {
			return nil, storeError(a.shown(), err)
		}
		if looked++; looked > globMost {
			return fail(fmt.Sprintf("the glob may mean more than %d objects, which are too many to look at", globMost),
				"write more of the name before the first * or [", nil)
		}
		if match, _ := path.Match(a.name, info.Name); match {
			all = append(all, (&address{bucket: a.bucket, name: info.Name}).input(s, info))
		}
	}
	if len(all) == 0 {
		return fail("no object matches", "check the name; a * stands for no slash", fs.ErrNotExist)
	}
	return all, nil
}

// input returns a blob as an input.
func (a *address) input(s blob.Store, info blob.Info) Input {
	return Input{Name: a.shown(), Path: a.shown(), Size: info.Bytes, Version: cmp.Or(info.Version, Unversioned),
		store: s, blob: a.name}
}

// stat returns the blob of an address.
func (p *Places) stat(a *address) (Input, error) {
	s, err := p.store(a)
	if err != nil {
		return Input{}, err
	}
	info, err := s.Stat(p.ctx, a.name)
	if err != nil {
		return Input{}, storeError(a.shown(), err)
	}
	return a.input(s, info), nil
}

// Stat returns the file at a path, or the blob of a URI.
func (p *Places) Stat(path string) (Input, error) {
	if a := p.address(path); a != nil {
		return p.stat(a)
	}
	return Stat(path)
}

// StatAny returns the first of the names that exists.
func (p *Places) StatAny(names []string) (in Input, found bool) {
	for _, name := range names {
		if in, err := p.Stat(name); err == nil {
			return in, true
		}
	}
	return Input{}, false
}

// storeError converts an error of a store to that of an input.
func storeError(shown string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &lines.Error{File: shown, What: "cannot be read: " + err.Error(), Err: err, How: "try again later"}
	var known *bellows.Error
	if errors.As(err, &known) {
		if e.What, e.How = "cannot be read: "+known.Err.Error(),
			cmp.Or(known.Hint, e.How); known.Kind == bellows.Config {
			e.What = known.Err.Error()
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.What, e.How = "there is no such object", missingObjectHint
	case errors.Is(err, blob.ErrReplaced):
		e.How = "read it when nobody writes it"
	case errors.Is(err, blob.ErrDamaged):
		e.How = "put it there again"
	}
	return e
}

// missingObjectHint is the hint for a missing object.
const missingObjectHint = "check the bucket and the name, whose letters are large or small as they were written"

// The size of one read of a blob, and the number of reads ahead of the parser.
const (
	aheadBytes = 1 << 20
	aheadMost  = 8
)

// ahead reads a blob ahead of its reader, so that the parser and the store do not wait for each other.
//
// Invariant: a buffer is held by exactly one of free, run, got and the reader.
type ahead struct {
	from   blob.Reader
	ctx    context.Context
	cancel context.CancelFunc
	free   chan []byte
	got    chan chunk
	last   chunk
	rest   []byte // of last
}

// A chunk is the result of one read.
type chunk struct {
	bytes []byte
	err   error
}

// openBlob opens the blob of an input.
func (in Input) openBlob(ctx context.Context) (*ahead, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := in.store.Open(ctx, in.blob)
	if err == nil && r.Bytes() != in.Size {
		_ = r.Close() // nothing was written
		err = blob.ErrReplaced
	}
	if err != nil {
		cancel()
		return nil, storeError(in.Shown(), err)
	}
	a := &ahead{from: r, ctx: ctx, cancel: cancel, free: make(chan []byte, aheadMost), got: make(chan chunk, aheadMost)}
	for range aheadMost {
		a.free <- nil
	}
	go a.run()
	return a, nil
}

// run reads until the end, the first error, or Close.
func (a *ahead) run() {
	defer close(a.got)
	defer a.from.Close()
	for at := int64(0); ; {
		var g chunk
		select {
		case g.bytes = <-a.free:
		case <-a.ctx.Done():
			return
		}
		if g.bytes == nil {
			g.bytes = make([]byte, min(aheadBytes, max(1, a.from.Bytes())))
		}
		var n int
		n, g.err = a.from.ReadAt(g.bytes[:cap(g.bytes)], at)
		g.bytes = g.bytes[:n]
		if at += int64(n); g.err == nil && at == a.from.Bytes() {
			g.err = io.EOF
		}
		a.got <- g // got has room for all buffers
		if g.err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.last.err != nil {
			return 0, a.last.err
		}
		if a.last.bytes != nil {
			a.free <- a.last.bytes
		}
		var more bool
		if a.last, more = <-a.got; !more {
			a.last.err = cmp.Or(a.ctx.Err(), context.Canceled)
		}
		a.rest = a.last.bytes
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close implements io.Closer. It cancels requests in flight.
func (a *ahead) Close() error {
	a.cancel()
	for range a.got { // until run has ended
	}
	return nil
}
