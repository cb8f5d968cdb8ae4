// Package blob is the interface to stores of bytes under names: a folder (blob/file), a bucket (blob/s3), or memory
// (blob/mem). It has what such places have in common, and no more.
//
// The caller's duties, in order:
//
//  1. Open a Store by its URI, through the Schemes that the program knows.
//  2. To write a blob, Create it, write, and Publish. Nothing of it is visible before Publish returns, and all of it
//     afterwards. Close a Writer that is not to be published; closing a published one is allowed.
//  3. To read a blob, Open it, read at any positions, and Close it.
//  4. Make no name the folder of another: where "a/b" is, there is no blob "a". Some stores cannot have both.
//
// An error of Publish leaves open whether the blob exists: the answer may have been lost. It is correct to publish the
// same bytes again.
//
// Blobs are never changed in place: one is replaced whole, or deleted. A reader of a blob that is replaced meanwhile
// reads the old bytes, or gets ErrReplaced; never a mixture.
//
// The package refuses names that some store could not have: see CheckName.
package blob

import (
	"context"
	"io"
	"iter"
	"net/url"
	"slices"
	"strings"

	"bellows"
)

// Store is a place with blobs. Its methods may be called by several goroutines. A context that ends, ends what it was given to, with its error.
type Store interface {
	// URI returns the name of the store, or of a blob in it, for Schemes and for people; "" is the store itself.
	URI(name string) string
	// Create begins a blob, to be seen when it is published. It replaces what has the name by then. The context is for all that is
	// done with the Writer.
	Create(ctx context.Context, name string) (Writer, error)
	// Open finds a blob to read. The context is for all that is read of it.
	Open(ctx context.Context, name string) (Reader, error)
	// Stat describes a blob. Its error is fs.ErrNotExist if the blob does not exist.
	Stat(ctx context.Context, name string) (Info, error)
	// List yields the blobs whose names begin with a prefix, in the order of their names' bytes, and ends with the
	// first error. A blob that is added or removed meanwhile may be included.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Delete removes a blob. Deleting a missing blob is no error.
	Delete(ctx context.Context, name string) error
}

// Info is what is known of a blob without reading it.
type Info struct {
	Name    string
	Bytes   int64
	Version string // where a blob of the same name has another one, it has other bytes; "": the store does not say
}

// Reader reads one blob, as it was when it was opened. ReadAt may be called by several goroutines.
type Reader interface {
	io.ReaderAt
	io.Closer
	// Bytes is the blob's size.
	Bytes() int64
}

// Writer writes one blob, from its beginning to its end. One goroutine at a time may call it.
type Writer interface {
	io.Writer
	// Publish makes the blob seen, whole and for good: when it returns nil the blob outlasts a power cut. Nothing may be written after it.
	Publish() error
	// PublishNew publishes like Publish if the name is free; otherwise it fails with fs.ErrExist. Of several concurrent
	// calls for a name, one succeeds.
	PublishNew() error
	// Close gives up what is not published.
	Close() error
}

// Schemes are the kinds of stores that a program knows, by the schemes of their URIs.
type Schemes map[string]func(ctx context.Context, at *url.URL) (Store, error)

// Open opens the store that a URI names, such as file:///home/me/bellows. Errors are of kind Config, or what the store says.
func (s Schemes) Open(ctx context.Context, uri string) (Store, error) {
	at, err := url.Parse(uri)
	if err != nil {
		return nil, bellows.Errorf(bellows.Config, "open storage", Shown(uri), "it is no URI").Hinted("write one such as file:///folder")
	}
	open, ok := s[at.Scheme]
	if !ok {
		var known []string
		for scheme := range s {
			known = append(known, scheme+"://")
		}
		slices.Sort(known)
		return nil, bellows.Errorf(bellows.Config, "open storage", Shown(uri), "unknown kind of storage").Hinted("known are " + strings.Join(known, ", "))
	}
	return open(ctx, at)
}

// Shown returns a URI, or text that was meant to be one, without its user and password. It removes everything up to the
// next "@", because keys have slashes.
func Shown(uri string) string {
	scheme, rest, ok := strings.Cut(uri, "://")
	if at := strings.LastIndex(rest, "@"); ok && at >= 0 {
		return scheme + "://…" + rest[at:]
	}
	return uri
}
