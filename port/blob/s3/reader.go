package s3

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"bellows/port/blob"

	"github.com/minio/minio-go/v7"
)

// partBytes are those of a part of a long blob as it is sent, and of a stretch as it is read.
const partBytes = 8 << 20

// readsMost is how often a stretch is requested after answers that were truncated or damaged.
const readsMost = 3

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of an object, as the service or its writer has stated it.
type checksum struct {
	sum   uint32
	parts int  // > 0: it is that of the sums of so many parts, each of partBytes but the last
	known bool // false: no checksum was stated
}

// checksumOf returns that of an object by the headers of an answer: the service's, or else the one that its writer left.
func checksumOf(answer http.Header) checksum {
	text := cmp.Or(answer.Get(sumHeader), answer.Get(metadata+sumKey))
	text, count, composite := strings.Cut(text, "-")
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != crc32.Size {
		return checksum{}
	}
	c := checksum{sum: binary.BigEndian.Uint32(b), known: true}
	if composite {
		if c.parts, err = strconv.Atoi(count); err != nil || c.parts < 1 {
			return checksum{}
		}
	}
	return c
}

// stated returns a CRC-32C as the protocol writes it.
func stated(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// reader reads one object, in stretches of partBytes, of which it keeps the last two. A read of a stretch in flight
// waits for it.
//
// States: open; closed. A stretch that arrived damaged, or not at all, is requested again by the next read.
//
// Invariant: all bytes are of the object that was opened: requests name it by its ETag, and so does each answer.
//
// Lock: mu, of the list of stretches and of the checksum. It is not held during waits.
type reader struct {
	ctx   context.Context
	store *Store
	name  string
	object

	mu     sync.Mutex
	near   [2]*stretch // the newest first
	next   int64       // up to here all was read, in order
	sum    uint32      // of that
	sums   uint32      // of the sums of the stretches of that
	broken bool        // all was read, and is not what was published
	closed bool
}

// stretch is partBytes of an object, or what there is of them.
type stretch struct {
	at    int64
	ready chan struct{} // closed: what follows is settled
	bytes []byte
	err   error
}

// Open implements blob.Store.
func (s *Store) Open(ctx context.Context, name string) (blob.Reader, error) {
	o, err := s.look(ctx, "open", name)
	if err != nil {
		return nil, err
	}
	return &reader{ctx: ctx, store: s, name: name, object: o}, nil
}

// Bytes implements blob.Reader.
func (r *reader) Bytes() int64 { return r.bytes }

// ReadAt implements io.ReaderAt.
func (r *reader) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, r.fault(errors.New("nothing stands before its beginning"))
	}
	for {
		if err := r.usable(); err != nil {
			return n, r.fault(err)
		}
		if n == len(p) {
			return n, nil
		}
		if at >= r.bytes {
			return n, io.EOF
		}
		s := r.stretch(at - at%partBytes)
		if s.err != nil {
			return n, s.err
		}
		took := copy(p[n:], s.bytes[at-s.at:])
		n, at = n+took, at+int64(took)
	}
}

func (r *reader) fault(err error) error { return r.store.fault(r.ctx, "read", r.name, err) }

func (r *reader) usable() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return blob.ErrClosed
	case r.broken:
		return errDamaged
	}
	return r.ctx.Err()
}

var errDamaged = fmt.Errorf("%w: it does not have the checksum that it was published with", blob.ErrDamaged)

// stretch returns the stretch that begins at a byte, whether it has arrived or not.
func (r *reader) stretch(at int64) *stretch {
	r.mu.Lock()
	for _, s := range r.near {
		if s != nil && s.at == at {
			r.mu.Unlock()
			<-s.ready
			return s
		}
	}
	s := &stretch{at: at, ready: make(chan struct{})}
	r.near[0], r.near[1] = s, r.near[0]
	r.mu.Unlock()
	s.bytes, s.err = r.fetch(at, int(min(partBytes, r.bytes-at)))
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(s.ready)
	if s.err == nil {
		s.err = r.follow(s)
	}
	for i := range r.near {
		if s.err != nil && r.near[i] == s {
			r.near[i] = nil
		}
	}
	return s
}

// follow adds a stretch to the checksum, where it is the next, and holds the whole against what was stated. Its caller holds the lock.
func (r *reader) follow(s *stretch) error {
	if s.at != r.next {
		return nil
	}
	var b [crc32.Size]byte
	binary.BigEndian.PutUint32(b[:], crc32.Checksum(s.bytes, castagnoli))
	r.sums = crc32.Update(r.sums, castagnoli, b[:])
	r.sum = crc32.Update(r.sum, castagnoli, s.bytes)
	if r.next += int64(len(s.bytes)); r.next < r.bytes || r.fits(r.sum, r.sums, int((r.bytes+partBytes-1)/partBytes)) {
		return nil
	}
	r.broken = true
	return r.fault(errDamaged)
}

// fits reports whether an object may have these sums.
func (o *object) fits(sum, sums uint32, parts int) bool {
	switch {
	case !o.sum.known || o.sum.parts > 0 && o.sum.parts != parts: // of parts of another size nothing is known
		return true
	case o.sum.parts > 0:
		return sums == o.sum.sum
	}
	return sum == o.sum.sum
}

// fetch asks for a stretch. One that is all of the object is held against its checksum.
func (r *reader) fetch(at int64, n int) (b []byte, err error) {
	for range readsMost {
		again := false
		err = r.store.call(r.ctx, "read", r.name, func(ctx context.Context) (err error) {
			b, again, err = r.get(ctx, at, n)
			return err
		})
		if err == nil && int64(n) == r.bytes && r.sum0(b) {
			return b, nil
		}
		if err == nil && int64(n) == r.bytes {
			err, again = r.fault(errDamaged), true
		}
		if err == nil || !again {
			return b, err
		}
	}
	return nil, err
}

// sum0 reports whether the bytes of an object that is one stretch may be its.
func (r *reader) sum0(b []byte) bool {
	sum := crc32.Checksum(b, castagnoli)
	return r.fits(sum, crc32.Checksum(binary.BigEndian.AppendUint32(nil, sum), castagnoli), 1)
}

// get asks for a stretch once; again: asking again may help.
func (r *reader) get(ctx context.Context, at int64, n int) (b []byte, again bool, err error) {
	var asked minio.GetObjectOptions
	asked.Set("If-Match", r.etag)
	if err := asked.SetRange(at, at+int64(n)-1); err != nil {
		return nil, false, err
	}
	var out io.ReadCloser
	var about minio.ObjectInfo
	err = r.store.client.try(ctx, func(ctx context.Context) (err error) {
		out, about, _, err = r.store.client.GetObject(ctx, r.store.bucket, r.store.objectKey(r.name), asked)
		return err
	})
	switch status := statusOf(err); {
	case status == http.StatusPreconditionFailed, status == http.StatusRequestedRangeNotSatisfiable, codeOf(err) == minio.NoSuchKey:
		return nil, false, blob.ErrReplaced
	case err != nil:
		return nil, false, err
	}
	defer out.Close()
	if about.Headers.Get("ETag") != r.etag {
		return nil, false, blob.ErrReplaced
	}
	if about.Size != int64(n) {
		return nil, false, fmt.Errorf("the service sends %d bytes of %d that were asked for", about.Size, n)
	}
	b = make([]byte, n)
	if _, err := io.ReadFull(out, b); err != nil {
		return nil, true, err
	}
	return b, false, nil
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.near = true, [2]*stretch{}
	return nil
}
