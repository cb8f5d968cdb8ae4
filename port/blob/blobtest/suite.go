// Package blobtest is the test suite that every store of blobs must pass. The test of an implementation calls Run with
// a function that makes an empty store.
//
// The suite asks for nothing that a bucket in the cloud could not do: it never changes a blob in place, relies on no
// folders, and lets a Reader of a replaced blob fail.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellows"
	"bellows/port/blob"
)

// Run runs the suite on an implementation. empty makes an empty store, or fails the test.
func Run(t *testing.T, empty func(t *testing.T) blob.Store) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(suite)
	}{
		{"what is published is read", suite.reads},
		{"many read one blob", suite.readTogether},
		{"nothing is seen before it is published", suite.unseen},
		{"a blob is replaced whole", suite.replaces},
		{"one of many writers is seen, whole", suite.writeTogether},
		{"creating a new blob fails if the name is used", suite.exists},
		{"one of many creators of a new blob succeeds", suite.firstOfMany},
		{"lists are in order", suite.lists},
		{"what is deleted is gone", suite.deletes},
		{"a missing blob is an error", suite.missing},
		{"names that some store cannot have are refused", suite.names},
		{"the end of a context ends its calls", suite.contexts},
		{"nothing is done after the end", suite.ends},
		{"addresses are told apart", suite.addresses},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(suite{t, empty(t), t.Context()})
		})
	}
}

// suite is one test with a separate store.
type suite struct {
	*testing.T
	store blob.Store
	ctx   context.Context
}

// create begins a blob and writes into it, in pieces of different lengths.
func (s suite) create(ctx context.Context, name string, content []byte) blob.Writer {
	s.Helper()
	w, err := s.store.Create(ctx, name)
	if err != nil {
		s.Fatal(err)
	}
	for n := 1; len(content) > 0; n = n*3 + 1 {
		n := min(n, len(content))
		if wrote, err := w.Write(content[:n]); wrote != n || err != nil {
			s.Fatalf("wrote %d of %d: %v", wrote, n, err)
		}
		content = content[n:]
	}
	return w
}

// put publishes a blob.
func (s suite) put(name string, content []byte) {
	s.Helper()
	w := s.create(s.ctx, name, content)
	if err := errors.Join(w.Publish(), w.Close()); err != nil {
		s.Fatal(err)
	}
}

func (s suite) open(ctx context.Context, name string) blob.Reader {
	s.Helper()
	r, err := s.store.Open(ctx, name)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = r.Close() })
	return r
}

// holds checks that a blob exists and has these bytes.
func (s suite) holds(name string, want []byte) {
	s.Helper()
	r := s.open(s.ctx, name)
	got, err := io.ReadAll(io.NewSectionReader(r, 0, r.Bytes()+1))
	if err != nil || !bytes.Equal(got, want) || r.Bytes() != int64(len(want)) {
		s.Errorf("%s has %d bytes, which are the right ones: %v; it says that it has %d of %d: %v",
			name, len(got), bytes.Equal(got, want), r.Bytes(), len(want), err)
	}
	if info, err := s.store.Stat(s.ctx, name); err != nil || info != (blob.Info{Name: name, Bytes: int64(len(want)), Version: info.Version}) {
		s.Errorf("%s is %+v: %v", name, info, err)
	}
}

// lacks checks that no blob of that name exists.
func (s suite) lacks(name string) {
	s.Helper()
	_, err := s.store.Stat(s.ctx, name)
	s.fails("stat", err, fs.ErrNotExist, bellows.NoInput)
	if r, err := s.store.Open(s.ctx, name); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("%s was opened: %v, %v", name, r, err)
	}
	if all := s.listed(name); slices.Contains(all, name) {
		s.Errorf("%s is listed", name)
	}
}

// listed returns the names of the blobs with a prefix, as they are listed.
func (s suite) listed(prefix string) (all []string) {
	s.Helper()
	for info, err := range s.store.List(s.ctx, prefix) {
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, info.Name)
	}
	return all
}

// fails checks that an error has a cause and a kind.
func (s suite) fails(what string, err, cause error, kind bellows.Kind) {
	s.Helper()
	if !errors.Is(err, cause) || bellows.KindOf(err) != kind {
		s.Errorf("%s: %v, of kind %d; wanted is %v, of kind %d", what, err, bellows.KindOf(err), cause, kind)
	}
}

// content returns random bytes.
func content(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func (s suite) reads() {
	for _, n := range []int{0, 1, 4096, 6<<20 + 5} {
		name := fmt.Sprintf("a/%d", n)
		want := content(1, n)
		s.put(name, want)
		s.holds(name, want)
		r := s.open(s.ctx, name)
		for _, at := range []int{0, 1, n / 3, n - 1, n, n + 7} {
			for _, length := range []int{0, 1, 100, n} {
				if at >= 0 {
					s.readsAt(r, want, at, length)
				}
			}
		}
		if _, err := r.ReadAt(make([]byte, 1), -1); err == nil || err == io.EOF {
			s.Errorf("reading before the beginning: %v", err)
		}
	}
}

// readsAt checks a read against the contract of io.ReaderAt.
func (s suite) readsAt(r io.ReaderAt, want []byte, at, length int) {
	s.Helper()
	b := make([]byte, length)
	n, err := r.ReadAt(b, int64(at))
	rest := want[min(at, len(want)):]
	if n != min(length, len(rest)) || !bytes.Equal(b[:n], rest[:n]) {
		s.Errorf("%d bytes at %d of %d: %d", length, at, len(want), n)
	}
	if n < length && err != io.EOF || n == length && err != nil && err != io.EOF {
		s.Errorf("%d bytes at %d of %d: %d, %v", length, at, len(want), n, err)
	}
}

func (s suite) readTogether() {
	want := content(2, 1<<20)
	s.put("a", want)
	r := s.open(s.ctx, "a")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 16 {
				s.readsAt(r, want, (i*16+j)*8191, 8192)
			}
		})
	}
	all.Wait()
}

func (s suite) unseen() {
	w := s.create(s.ctx, "a/b", content(3, 100_000))
	s.lacks("a/b")
	if all := s.listed(""); len(all) > 0 {
		s.Errorf("listed are %v", all)
	}
	if err := w.Close(); err != nil {
		s.Error(err)
	}
	s.lacks("a/b")
	if err := w.Close(); err != nil {
		s.Errorf("closed again: %v", err)
	}
}

func (s suite) replaces() {
	old, next := content(4, 300_000), content(5, 200_000)
	s.put("a", old)
	r := s.open(s.ctx, "a")
	w := s.create(s.ctx, "a", next)
	s.holds("a", old)
	if err := w.Publish(); err != nil {
		s.Fatal(err)
	}
	s.holds("a", next)
	b := make([]byte, len(old))
	if _, err := r.ReadAt(b, 0); !errors.Is(err, blob.ErrReplaced) && (err != nil || !bytes.Equal(b, old)) {
		s.Errorf("an open reader reads later bytes: %v", err)
	}
}

func (s suite) writeTogether() {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 4 {
				w, err := s.store.Create(s.ctx, "a")
				if err == nil {
					_, err = w.Write(bytes.Repeat([]byte{byte(i)}, 10_000+i))
				}
				if err == nil {
					err = w.Publish()
				}
				if err != nil {
					s.Error(err)
				}
			}
		})
	}
	all.Wait()
	r := s.open(s.ctx, "a")
	i := int(r.Bytes()) - 10_000
	s.holds("a", bytes.Repeat([]byte{byte(i)}, 10_000+i))
}

func (s suite) exists() {
	first := content(6, 1000)
	w := s.create(s.ctx, "a/b", first)
	if err := w.PublishNew(); err != nil {
		s.Fatal(err)
	}
	w = s.create(s.ctx, "a/b", content(7, 1000))
	s.fails("publish", w.PublishNew(), fs.ErrExist, bellows.Refused)
	s.holds("a/b", first)
	if err := s.store.Delete(s.ctx, "a/b"); err != nil {
		s.Fatal(err)
	}
	w = s.create(s.ctx, "a/b", first)
	if err := w.PublishNew(); err != nil {
		s.Errorf("its name is free again: %v", err)
	}
}

func (s suite) firstOfMany() {
	const most = 8
	won := make([]bool, most)
	var all sync.WaitGroup
	for i := range most {
		w := s.create(s.ctx, "a", []byte{byte(i)})
		all.Go(func() {
			err := w.PublishNew()
			if won[i] = err == nil; err != nil && !errors.Is(err, fs.ErrExist) {
				s.Error(err)
			}
		})
	}
	all.Wait()
	if first := slices.Index(won, true); first < 0 || slices.Contains(won[first+1:], true) {
		s.Errorf("those who were first: %v", won)
	} else {
		s.holds("a", []byte{byte(first)})
	}
}

func (s suite) lists() {
	all := []string{"a/b/c", "a/b/d", "a/b-c/d", "a/b.c", "a/bc", "a=b", "ab/0", "ab/00", "b"}
	for _, name := range all {
		s.put(name, []byte(name))
	}
	slices.Sort(all)
	for _, prefix := range []string{"", "a", "a/", "a/b", "a/b/", "a/b/c", "a/b/c/", "ab", "b", "b/", "c", "c/d/", "/", "//", "a//", "..", "../", "a/../"} {
		var want []string
		for _, name := range all {
			if strings.HasPrefix(name, prefix) {
				want = append(want, name)
			}
		}
		if got := s.listed(prefix); !slices.Equal(got, want) {
			s.Errorf("%q: listed are %v, not %v", prefix, got, want)
		}
	}
	n := 0
	for info, err := range s.store.List(s.ctx, "a") {
		if n++; err != nil || info.Bytes != int64(len(info.Name)) {
			s.Errorf("%+v: %v", info, err)
		}
		if n == 3 {
			break
		}
	}
	if n != 3 {
		s.Errorf("%d were listed before the break", n)
	}
}

func (s suite) deletes() {
	s.put("a/b", []byte("b"))
	s.put("a/c", []byte("c"))
	for range 2 {
		if err := s.store.Delete(s.ctx, "a/b"); err != nil {
			s.Error(err)
		}
		s.lacks("a/b")
	}
	s.holds("a/c", []byte("c"))
	s.put("a/b", []byte("b again"))
	s.holds("a/b", []byte("b again"))
}

func (s suite) missing() {
	s.put("a/b", []byte("b"))
	for _, name := range []string{"b", "a/c", "c/b", "a"} {
		s.lacks(name)
		_, err := s.store.Stat(s.ctx, name)
		if err == nil || !strings.Contains(err.Error(), s.store.URI(name)) {
			s.Errorf("the error does not say what is missing: %v", err)
		}
		if err := s.store.Delete(s.ctx, name); name != "a" && err != nil {
			s.Error(err)
		}
	}
}

func (s suite) names() {
	for _, name := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", ".a", "a/.b", "-a", "A", "a b", "a\\b", "a\x00b", "ä", "a?b", "a:b",
		strings.Repeat("a", 201), strings.Repeat("a/", 400) + "a"} {
		_, created := s.store.Create(s.ctx, name)
		_, opened := s.store.Open(s.ctx, name)
		_, seen := s.store.Stat(s.ctx, name)
		for _, err := range []error{created, opened, seen, s.store.Delete(s.ctx, name)} {
			if err == nil || bellows.KindOf(err) != bellows.Bug {
				s.Errorf("%q: %v", name, err)
			}
		}
	}
	for _, name := range []string{"0", "_a=b-c.d/e..f", strings.Repeat("a", 200), strings.Repeat(strings.Repeat("a", 100)+"/", 7) + "b"} {
		s.put(name, []byte(name))
		s.holds(name, []byte(name))
	}
}

func (s suite) contexts() {
	s.put("a", []byte("content"))
	ctx, end := context.WithCancel(s.ctx)
	r, w := s.open(ctx, "a"), s.create(ctx, "b", []byte("b"))
	unpublished := s.create(ctx, "c", []byte("c"))
	end()
	_, created := s.store.Create(ctx, "b")
	_, opened := s.store.Open(ctx, "a")
	_, seen := s.store.Stat(ctx, "a")
	_, read := r.ReadAt(make([]byte, 1), 0)
	_, wrote := w.Write([]byte("b"))
	var listed error
	for _, err := range s.store.List(ctx, "") {
		listed = err
	}
	for what, err := range map[string]error{"create": created, "open": opened, "stat": seen, "read": read, "write": wrote, "list": listed,
		"delete": s.store.Delete(ctx, "a"), "publish": unpublished.Publish()} {
		s.fails(what, err, context.Canceled, bellows.Interrupted)
	}
	if err := errors.Join(w.Close(), unpublished.Close()); err != nil {
		s.Error(err)
	}
	s.holds("a", []byte("content"))
	s.lacks("b")
	s.lacks("c")
}

func (s suite) ends() {
	over := func(w blob.Writer) {
		n, wrote := w.Write([]byte("b"))
		if n != 0 {
			s.Errorf("%d bytes are written after the end", n)
		}
		for what, err := range map[string]error{"write": wrote, "publish": w.Publish(), "publish as new": w.PublishNew()} {
			s.fails(what, err, blob.ErrClosed, bellows.Bug)
		}
	}
	w := s.create(s.ctx, "a", []byte("a"))
	if err := w.Publish(); err != nil {
		s.Fatal(err)
	}
	over(w)
	given := s.create(s.ctx, "a", []byte("c"))
	r := s.open(s.ctx, "a")
	if err := errors.Join(r.Close(), w.Close(), given.Close()); err != nil {
		s.Error(err)
	}
	over(w)
	over(given)
	_, read := r.ReadAt(make([]byte, 1), 0)
	s.fails("read", read, blob.ErrClosed, bellows.Bug)
	s.holds("a", []byte("a"))
}

func (s suite) addresses() {
	own := s.store.URI("")
	scheme, _, ok := strings.Cut(own, "://")
	if !ok || scheme == "" || strings.HasSuffix(own, "/") {
		s.Errorf("the store is at %q", own)
	}
	if at := s.store.URI("a/b"); at != own+"/a/b" {
		s.Errorf("a/b is at %q, and the store at %q", at, own)
	}
}
