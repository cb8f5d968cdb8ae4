package archive_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"bellows"
	"bellows/node/archive"
	"bellows/port/blob"
	"bellows/port/blob/s3/s3test"
)

// trouble is what becomes of requests to S3 from one on.
type trouble struct {
	s3test.Fault
	length int // requests; 0: all that follow
}

func (f trouble) String() string {
	return fmt.Sprintf("%v %s of %d", f.What, f.Code, f.length)
}

// requestsApart is how far apart the requests are that TestKilledAtEveryRequest lets go wrong, and bytesApart the bytes
// that TestDamagedObjectIsNamed damages. The soak takes each of them.
var requestsApart, bytesApart = 5, 5

// TestKilledAtEveryRequest lets each S3 request of checkpoints fail in each way, once, until a call fails, or for as
// long as the process lives. The newest cut that was published without an error is there, or a newer one, whole. So is
// the next cut, and nothing is left that it does not need. A single fault that passes is not noticed. Each way gets one
// request of requestsApart, beginning at another one than the previous way.
func TestKilledAtEveryRequest(t *testing.T) {
	t.Parallel()
	answers := func(status int, code string) s3test.Fault {
		return s3test.Fault{What: s3test.Answered, Status: status, Code: code}
	}
	const call = 6 // requests; a call makes five at most
	for i, f := range []trouble{
		{s3test.Fault{What: s3test.Unasked}, 0}, {s3test.Fault{What: s3test.Unheard}, 1},
		{s3test.Fault{What: s3test.Short}, call}, {s3test.Fault{What: s3test.Damaged}, call},
		{s3test.Fault{What: s3test.Stalled}, call}, {answers(500, "InternalError"), call},
		{answers(503, "SlowDown"), call}, {answers(403, "AccessDenied"), 1},
	} {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			requests := 0
			synctest.Test(t, func(t *testing.T) { requests = killAtRequest(t, math.MaxInt, f) })
			for n := i % requestsApart; n < requests; n += requestsApart {
				synctest.Test(t, func(t *testing.T) { killAtRequest(t, n, f) })
			}
			t.Logf("%d requests", requests)
		})
	}
}

// killAtRequest plays it with requests that go wrong from the one of number n, and says how many there were.
func killAtRequest(t *testing.T, n int, f trouble) (requests int) {
	t.Helper()
	server := s3test.Pipe(t)
	s := server.Store(t, "runs/a")
	cuts := append(life(1, 1, 2, 3), life(2, 1)...)
	a := open(t, s)
	for i, c := range cuts[:2] {
		mustPublish(t, a, c, []*cut{nil, cuts[0]}[i])
	}
	server.Upset(func(at int, _ *http.Request) s3test.Fault {
		if at < n || f.length > 0 && at-n >= f.length {
			return s3test.Fault{}
		}
		return f.Fault
	})
	published := 1
	m, failed := publish(t.Context(), a, cuts[2], cuts[1])
	if m != nil {
		published = 2
	}
	a = open(t, s)
	if m, _, err := a.Latest(t.Context()); err == nil && m != nil {
		if m, err = publish(t.Context(), a, cuts[3], nil); m != nil {
			published = 3
		} else if failed == nil {
			failed = err
		}
	} else if failed == nil {
		failed = err
	}
	if f.length == 1 && f.What != s3test.Answered && failed != nil {
		t.Fatalf("request %d: one fault is noticed: %v", n, failed)
	}
	requests = server.Requests()
	server.Upset(nil)
	a = open(t, s)
	m, passed, err := a.Latest(t.Context())
	if err != nil || len(passed) > 0 || m == nil {
		t.Fatalf("request %d: %v, %v, %v", n, m, passed, err)
	}
	at := slices.IndexFunc(cuts, func(c *cut) bool { return c.At == m.At })
	if at < published {
		t.Fatalf("request %d: cut %d is the newest, and number %d was published", n, at, published)
	}
	holds(t, a, m, cuts[at])
	settled(t, s, a, n)
	return requests
}

// settled wants two more cuts to be written, and nothing else to be left then.
func settled(t *testing.T, s blob.Store, a *archive.Archive, n int) {
	t.Helper()
	needed := map[string]bool{}
	for _, c := range life(7, 1, 2) {
		m, err := publish(t.Context(), a, c, nil)
		if err != nil {
			t.Fatalf("request %d: then no cut can be written: %v", n, err)
		}
		for _, e := range m.Shards {
			needed[e.Name] = true
		}
	}
	if left := names(t, s, ""); len(left) != len(needed)+2 {
		t.Fatalf("request %d: %d objects are left, and %d needed: %v", n, len(left), len(needed)+2, left)
	}
}

// TestDamagedObjectIsNamed makes a bit of each byte of the newest manifest, and of a shard of each table, come as
// another one, in each read: the object is named, and the cut before is used. Of bytesApart bytes one is taken, since
// TestEveryFlippedBitIsRefusedByName flips all bits in the reads of a file.
func TestDamagedObjectIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := s3test.Pipe(t)
		s := server.Store(t, "runs/a")
		a := open(t, s)
		cuts := life(1, 1, 2)
		var newest *archive.Manifest
		for _, c := range cuts {
			newest = mustPublish(t, a, c, nil)
		}
		for _, name := range []string{names(t, s, "cuts/")[1], newest.Shards[0].Name,
			newest.Shards[len(newest.Shards)-1].Name} {
			length := len(content(t, s, name))
			for i := 0; i < length; i += bytesApart {
				server.Upset(func(_ int, r *http.Request) (f s3test.Fault) {
					if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+name) {
						f = s3test.Fault{What: s3test.Damaged, Bit: 8*i + i*5%8}
					}
					return f
				})
				// Latest asks for much more
				if _, err := a.Cut(t.Context(), newest.At); strings.HasPrefix(name, "cuts/") && i%64 > 0 {
					if bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), s.URI(name)) {
						t.Fatalf("byte %d of %s: %v", i, name, err)
					}
					continue
				}
				m, passed, err := a.Latest(t.Context())
				if err != nil || len(passed) != 1 || passed[0].At != cuts[1].At ||
					!strings.Contains(passed[0].Why.Error(), s.URI(name)) || m.At != cuts[0].At {
					t.Fatalf("byte %d of %s: %v, %v, %v", i, name, m, passed, err)
				}
			}
			server.Upset(nil)
		}
	})
}
