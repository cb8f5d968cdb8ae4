package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"time"

	"bellows/port/blob"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// What a writer leaves with an object, as its metadata.
const (
	writerKey = "bellows-writer" // a random word: whose it is, where an answer was lost
	sumKey    = "bellows-crc32c" // of an object that was put in one request, for services that keep none
)

const (
	partsMost   = 10_000          // of an object, by the protocol
	abortMost   = 2 * time.Second // for giving up what was sent
	publishMost = 3               // times that a publication is tried which collides with another
)

// writer writes one blob.
//
// States: gathering, while what was written is less than a part or just one; sending, from the first part on; closed.
//
// Invariant: nobody sees anything of it before the one request that ends publish: a put, or the word that the parts are all.
type writer struct {
	ctx    context.Context
	store  *Store
	name   string
	stamp  string
	b      []byte // not sent yet, at most partBytes
	upload *string
	parts  []types.CompletedPart
	sum    uint32 // of all that was written
	bytes  int64  // that were sent
	err    error  // the first: nothing is published behind it
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

// usable is why nothing can be written; nil: it can.
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
	if w.upload == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	sum := stated(crc32.Checksum(w.b, castagnoli))
	number := int32(len(w.parts) + 1)
	err := w.call(func(ctx context.Context) error {
		out, err := w.store.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &w.store.bucket, Key: w.store.at(w.name), UploadId: w.upload, PartNumber: &number,
			Body: bytes.NewReader(w.b), ContentLength: aws.Int64(int64(len(w.b))), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c, ChecksumCRC32C: &sum})
		if err == nil {
			w.parts = append(w.parts, types.CompletedPart{PartNumber: &number, ETag: out.ETag, ChecksumCRC32C: &sum})
		}
		return err
	})
	if err != nil {
		return err
	}
	w.sum = crc32.Update(w.sum, castagnoli, w.b)
	w.bytes += int64(len(w.b))
	w.b = w.b[:0]
	return nil
}

// begin begins the upload of a long blob.
func (w *writer) begin() error {
	w.store.swept.Do(func() { w.store.sweep(w.ctx) })
	return w.call(func(ctx context.Context) error {
		out, err := w.store.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &w.store.bucket, Key: w.store.at(w.name), Metadata: map[string]string{writerKey: w.stamp},
			ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c, ChecksumType: types.ChecksumTypeFullObject})
		if err == nil && aws.ToString(out.UploadId) == "" {
			err = errors.New("the service begins an upload without a name")
		}
		if err == nil {
			w.upload = out.UploadId
		}
		return err
	})
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
	if err == nil && w.upload != nil {
		err = w.send()
	}
	w.closed = true
	if err == nil {
		var only *string
		if isNew {
			only = aws.String("*")
		}
		err = w.call(func(ctx context.Context) error { return w.conclude(ctx, only) })
	}
	if err != nil {
		w.abort()
	}
	w.b = nil
	return err
}

// conclude is the request by which the blob is seen. Who is told that another was first, or that the upload is over, may have been so himself, where an answer was lost: the object says whose it is.
func (w *writer) conclude(ctx context.Context, only *string) (err error) {
	for range publishMost {
		if w.upload == nil {
			err = w.put(ctx, only)
		} else {
			err = w.complete(ctx, only)
		}
		switch code := codeOf(err); {
		case code == "ConditionalRequestConflict": // with one who publishes at the same time
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

func (w *writer) put(ctx context.Context, only *string) error {
	sum := stated(crc32.Checksum(w.b, castagnoli))
	_, err := w.store.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &w.store.bucket, Key: w.store.at(w.name), IfNoneMatch: only, Body: bytes.NewReader(w.b), ContentLength: aws.Int64(int64(len(w.b))),
		Metadata: map[string]string{writerKey: w.stamp, sumKey: sum}, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c, ChecksumCRC32C: &sum})
	return err
}

func (w *writer) complete(ctx context.Context, only *string) error {
	_, err := w.store.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &w.store.bucket, Key: w.store.at(w.name), UploadId: w.upload, IfNoneMatch: only,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: w.parts}, ChecksumCRC32C: aws.String(stated(w.sum)), ChecksumType: types.ChecksumTypeFullObject, MpuObjectSize: aws.Int64(w.bytes)})
	return err
}

// abort gives up what was sent, also where the context has ended. What it cannot give up is swept a day later.
func (w *writer) abort() {
	if w.upload == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortMost)
	defer cancel()
	_, _ = w.store.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &w.store.bucket, Key: w.store.at(w.name), UploadId: w.upload})
	w.upload = nil
}

// Close implements blob.Writer.
func (w *writer) Close() error {
	if !w.closed {
		w.closed, w.b = true, nil
		w.abort()
	}
	return nil
}
