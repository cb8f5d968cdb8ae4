package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/http"
	"time"

	"bellows/port/blob"

	"github.com/minio/minio-go/v7"
)

// The metadata that a writer stores with an object.
const (
	writerKey = "bellows-writer" // a random word that identifies the writer if an answer was lost
	sumKey    = "bellows-crc32c" // of an object that was put in one request, for services that keep none
)

// Headers of checksums. They may stand among an object's metadata, because the library knows them.
const (
	sumHeader     = "X-Amz-Checksum-Crc32c"
	sumAlgorithm  = "X-Amz-Checksum-Algorithm"
	sumTypeHeader = "X-Amz-Checksum-Type"
)

const (
	partsMost   = 10_000          // of an object, by the protocol
	abortMost   = 2 * time.Second // for giving up what was sent
	publishMost = 3               // times that a publication is tried which collides with another
)

// writer writes one blob.
//
// States: gathering, while at most one part was written; sending, from the first part on; closed.
//
// Invariant: nothing of it is visible before the one request that ends publish: a put, or the completion of the parts.
type writer struct {
	ctx    context.Context
	store  *Store
	name   string
	stamp  string
	b      []byte // not sent yet, at most partBytes
	upload string // its name; "": none has begun
	parts  []minio.CompletePart
	sum    uint32 // of all that was written
	err    error  // the first error: nothing is published after it
	closed bool
}

// Create implements blob.Store. Nothing is asked before there is a part to send.
func (s *Store) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := blob.CheckName(name); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, s.fault(ctx, "create", name, err)
	}
	return &writer{ctx: ctx, store: s, name: name, stamp: rand.Text()}, nil
}

func (w *writer) fault(err error) error { return w.store.fault(w.ctx, "write", w.name, err) }

func (w *writer) call(do func(ctx context.Context) error) error {
	return w.store.call(w.ctx, "write", w.name, do)
}

// usable returns why nothing can be written; nil if it can.
func (w *writer) usable() error {
	if w.closed {
		return w.fault(blob.ErrClosed)
	}
	if err := w.ctx.Err(); err != nil {
		return w.fault(err)
	}
	return w.err
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (n int, err error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	for n < len(p) {
		if len(w.b) == partBytes {
			if w.err = w.send(); w.err != nil {
				return n, w.err
			}
		}
		take := min(len(p)-n, partBytes-len(w.b))
		w.b = append(w.b, p[n:n+take]...)
		n += take
	}
	return n, nil
}

// send sends what was gathered as the next part, and begins the upload with the first.
func (w *writer) send() error {
	if len(w.parts) == partsMost {
		return w.fault(fmt.Errorf("%w: a blob has at most %d parts of %d MiB", blob.ErrFull, partsMost, partBytes>>20))
	}
	if w.upload == "" {
		if err := w.begin(); err != nil {
			return err
		}
	}
	sum := stated(crc32.Checksum(w.b, castagnoli))
	number := len(w.parts) + 1
	how := minio.PutObjectPartOptions{Sha256Hex: digest(w.b), DisableContentSha256: true, CustomHeader: http.Header{sumHeader: {sum}}}
	err := w.call(func(ctx context.Context) error {
		return w.store.client.try(ctx, func(ctx context.Context) error {
			out, err := w.store.client.PutObjectPart(ctx, w.store.bucket, w.store.objectKey(w.name), w.upload, number, bytes.NewReader(w.b), int64(len(w.b)), how)
			if err == nil {
				w.parts = append(w.parts, minio.CompletePart{PartNumber: number, ETag: out.ETag, ChecksumCRC32C: sum})
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	w.sum = crc32.Update(w.sum, castagnoli, w.b)
	w.b = w.b[:0]
	return nil
}

// begin begins the upload of a long blob.
func (w *writer) begin() error {
	w.store.swept.Do(func() { w.store.sweep(w.ctx) })
	how := minio.PutObjectOptions{UserMetadata: map[string]string{writerKey: w.stamp, sumAlgorithm: "CRC32C", sumTypeHeader: "FULL_OBJECT"}}
	return w.call(func(ctx context.Context) error {
		return w.store.client.try(ctx, func(ctx context.Context) error {
			upload, err := w.store.client.NewMultipartUpload(ctx, w.store.bucket, w.store.objectKey(w.name), how)
			if err == nil && upload == "" {
				err = errors.New("the service begins an upload without a name")
			}
			if err == nil {
				w.upload = upload
			}
			return err
		})
	})
}

// digest returns the SHA-256 of a body, which its request's signature covers. Given it, the library sends the body as it is, by encrypted and plain connections alike.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Publish implements blob.Writer.
func (w *writer) Publish() error { return w.publish(false) }

// PublishNew implements blob.Writer.
func (w *writer) PublishNew() error { return w.publish(true) }

func (w *writer) publish(isNew bool) error {
	if w.closed {
		return w.usable()
	}
	err := w.usable()
	if err == nil && w.upload != "" {
		err = w.send()
	}
	w.closed = true
	if err == nil {
		err = w.call(func(ctx context.Context) error { return w.conclude(ctx, isNew) })
	}
	if err != nil {
		w.abort()
	}
	w.b = nil
	return err
}

// conclude sends the request that makes the blob visible. An answer that another writer was first, or that the upload
// has ended, may come after an answer of this writer was lost: the object says whose it is.
func (w *writer) conclude(ctx context.Context, isNew bool) (err error) {
	for range publishMost {
		if w.upload == "" {
			err = w.put(ctx, isNew)
		} else {
			err = w.complete(ctx, isNew)
		}
		switch code := codeOf(err); {
		case code == "ConditionalRequestConflict": // with a concurrent publisher
			continue
		case code == "PreconditionFailed", code == "NoSuchUpload":
			o, looked := w.store.look(ctx, "look at", w.name)
			switch {
			case looked == nil && o.writer == w.stamp:
				return nil
			case code == "PreconditionFailed":
				return fs.ErrExist
			}
		}
		return err
	}
	return err
}

func (w *writer) put(ctx context.Context, isNew bool) error {
	sum := stated(crc32.Checksum(w.b, castagnoli))
	how := options(isNew, map[string]string{writerKey: w.stamp, sumKey: sum, sumHeader: sum})
	sha := digest(w.b)
	return w.store.client.try(ctx, func(ctx context.Context) error {
		_, err := w.store.client.PutObject(ctx, w.store.bucket, w.store.objectKey(w.name), bytes.NewReader(w.b), int64(len(w.b)), "", sha, how)
		return err
	})
}

func (w *writer) complete(ctx context.Context, isNew bool) error {
	how := options(isNew, map[string]string{sumHeader: stated(w.sum), sumTypeHeader: "FULL_OBJECT"})
	return w.store.client.try(ctx, func(ctx context.Context) error {
		_, err := w.store.client.CompleteMultipartUpload(ctx, w.store.bucket, w.store.objectKey(w.name), w.upload, w.parts, how)
		return err
	})
}

// options returns the options of a request that publishes a blob.
func options(isNew bool, headers map[string]string) minio.PutObjectOptions {
	how := minio.PutObjectOptions{UserMetadata: headers, DisableContentSha256: true}
	if isNew {
		how.SetMatchETagExcept("*")
	}
	return how
}

// abort removes what was sent, even if the context has ended. What it cannot remove is swept a day later.
func (w *writer) abort() {
	if w.upload == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortMost)
	defer cancel()
	_ = w.store.abort(ctx, w.store.objectKey(w.name), w.upload)
	w.upload = ""
}

// Close implements blob.Writer.
func (w *writer) Close() error {
	if !w.closed {
		w.closed, w.b = true, nil
		w.abort()
	}
	return nil
}
