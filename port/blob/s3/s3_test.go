package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/port/blob"
	"bellows/port/blob/blobtest"
	"bellows/port/blob/s3"
	"bellows/port/blob/s3/s3test"
)

// part is how many bytes a part of a long blob has.
const part = 8 << 20

func TestSuite(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	var stores atomic.Int64
	blobtest.Run(t, func(t *testing.T) blob.Store { return server.Store(t, fmt.Sprintf("runs/%d", stores.Add(1))) })
}

// TestTheWholeBucketMayBeTheStore: there need be no prefix.
func TestTheWholeBucketMayBeTheStore(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s := server.Store(t, "")
	put(t, s, "a/b", []byte("b"))
	for info, err := range s.List(t.Context(), "") {
		if err != nil || info != (blob.Info{Name: "a/b", Bytes: 1, Version: info.Version}) || info.Version == "" {
			t.Error(info, err)
		}
	}
	put(t, server.Store(t, "Others"), "c", []byte("c")) // no blob of this store is called Others/c
	for info, err := range s.List(t.Context(), "") {
		if err != nil || info.Name != "a/b" {
			t.Error(info, err)
		}
	}
	if s.URI("") != "s3://tests" || s.URI("a") != "s3://tests/a" {
		t.Error(s.URI(""), s.URI("a"))
	}
}

// content returns so many bytes, all stretches different.
func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*31 + i>>11)
	}
	return b
}

func write(ctx context.Context, s blob.Store, name string, b []byte) (blob.Writer, error) {
	w, err := s.Create(ctx, name)
	if err == nil {
		_, err = w.Write(b)
	}
	return w, err
}

func put(t *testing.T, s blob.Store, name string, b []byte) {
	t.Helper()
	w, err := write(t.Context(), s, name, b)
	if err == nil {
		err = w.Publish()
	}
	require.NoError(t, err)
}

func read(ctx context.Context, s blob.Store, name string) ([]byte, error) {
	r, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.NewSectionReader(r, 0, r.Bytes()))
}

// callAll asks a store for all that it can do, and gives the errors by what was asked.
func callAll(t *testing.T, s blob.Store) map[string]error {
	t.Helper()
	errs := map[string]error{"delete": s.Delete(t.Context(), "a")}
	_, errs["stat"] = s.Stat(t.Context(), "a")
	_, errs["open"] = s.Open(t.Context(), "a")
	for _, err := range s.List(t.Context(), "") {
		errs["list"] = err
	}
	w, err := write(t.Context(), s, "a", []byte("a"))
	if err == nil {
		err = w.Publish()
	}
	errs["put"] = err
	if w, err = write(t.Context(), s, "a", make([]byte, part+1)); err == nil {
		err = w.Publish()
	}
	errs["put long"] = err
	return errs
}

func TestOpenByURI(t *testing.T) {
	t.Parallel()
	known := blob.Schemes{"s3": s3.Open}
	for uri, at := range map[string]string{
		"s3://bucket": "s3://bucket", "s3://bucket/": "s3://bucket", "s3://a.b-c/d/E_f=1/": "s3://a.b-c/d/E_f=1",
		"s3://bucket/x?region=eu-west-1&endpoint=http://127.0.0.1:9000&use_path_style=false": "s3://bucket/x",
	} {
		if s, err := known.Open(t.Context(), uri); err != nil || s.URI("") != at {
			t.Errorf("%s: %v, %v", uri, s, err)
		}
	}
	for uri, why := range map[string]string{
		"s3://": "no name of a bucket", "s3:///a": "no name of a bucket", "s3:a": "no name of a bucket", "s3://b": "no name of a bucket", "s3://-bucket": "no name of a bucket",
		"s3://bucket/a//b": "a prefix has", "s3://bucket/ä": "a prefix has", "s3://bucket/.a": "a prefix has", "s3://bucket/" + strings.Repeat("a", 256): "a prefix has",
		"s3://bucket/a#b": "behind #", "s3://bucket?x=%zz": "cannot be read", "s3://bucket?region=a&region=b": "says region twice", "s3://bucket?region=": "it says region",
		"s3://bucket?use_path_style=yes": "use_path_style", "s3://bucket?endpoint=127.0.0.1:9000": "no address", "s3://bucket?endpoint=http://me:secret@host": "no address",
		"s3://bucket?profile=me": "it says profile", "s3://me:secret@bucket/a": "no credentials", "s3://secret@bucket/a": "no credentials",
		"s3://bucket?endpoint=https://host/storage/v1": "its endpoint has the path /storage/v1", "s3://bucket?endpoint=https://eu.rep.googleapis.com": "endpoint cannot be used", "s3://a--use1-az4--x-s3/b": "lists its objects in no order", "s3://10.0.0.1/a": "no name of a bucket",
		"s3://bucket?endpoint=http://host&region=EU/x": "the region is none",
	} {
		_, err := known.Open(t.Context(), uri)
		if err == nil || bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// TestErrorsAreNamed makes the service answer with each of its errors, to whatever it is asked: none is taken for a blob that is not there.
func TestErrorsAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
		kind   bellows.Kind
		says   string
		hint   string
	}{
		{404, "NoSuchBucket", bellows.Config, "no such bucket", "make it"},
		{403, "AccessDenied", bellows.Refused, "it is not allowed", "s3:ListBucket"},
		{403, "InvalidAccessKeyId", bellows.Refused, "does not take the credentials", "AWS_ACCESS_KEY_ID"},
		{403, "SignatureDoesNotMatch", bellows.Refused, "does not take the credentials", "AWS_SECRET_ACCESS_KEY"},
		{400, "ExpiredToken", bellows.Refused, "does not take the credentials", "may be over"},
		{403, "RequestTimeTooSkewed", bellows.Config, "clock", "set it"},
		{301, "PermanentRedirect", bellows.Config, "another region", "AWS_REGION"},
		{400, "AuthorizationHeaderMalformed", bellows.Config, "another region", "?region="},
		{503, "SlowDown", bellows.IO, "asked too much, 5 times", "less often"},
		{429, "TooManyRequests", bellows.IO, "asked too much, 5 times", "less often"},
		{500, "InternalError", bellows.IO, "the service fails, 5 times", "later"},
		{507, "InsufficientStorage", bellows.CannotWrite, "takes no more", "free some space"},
		{400, "QuotaExceeded", bellows.CannotWrite, "takes no more", "quota"},
		{400, "Unheardof", bellows.IO, "the service answers Unheardof, status 400: by the test", ""},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := s3test.Pipe(t)
				s := server.Store(t, "p")
				server.Upset(func(int, *http.Request) s3test.Fault {
					return s3test.Fault{What: s3test.Answered, Status: c.status, Code: c.code}
				})
				for what, err := range callAll(t, s) {
					if err == nil || bellows.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.hint) ||
						!strings.Contains(err.Error(), "s3://tests/p") || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), s3test.Secret) {
						t.Errorf("%s: %v, of kind %d", what, err, bellows.KindOf(err))
					}
				}
			})
		})
	}
}

// TestAskingAgainHasABound: what may pass is asked for five times, with pauses, and what cannot once.
func TestAskingAgainHasABound(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{503: 5, 500: 5, 403: 1, 400: 1} {
		synctest.Test(t, func(t *testing.T) {
			server := s3test.Pipe(t)
			s := server.Store(t, "p")
			server.Upset(func(int, *http.Request) s3test.Fault {
				return s3test.Fault{What: s3test.Answered, Status: status, Code: "Whatever"}
			})
			began := time.Now()
			err := s.Delete(t.Context(), "a")
			if took := time.Since(began); err == nil || server.Requests() != want || took > 20*time.Second {
				t.Errorf("%d: asked %d times in %v: %v", status, server.Requests(), took, err)
			}
		})
	}
}

// TestAReplacedBlobIsNotRead, by a service that heeds which object is meant and by one that does not.
func TestAReplacedBlobIsNotRead(t *testing.T) {
	t.Parallel()
	for _, heedless := range []bool{false, true} {
		server := s3test.Start(t)
		server.Heedless = heedless
		s := server.Store(t, "p")
		long := content(part + 5)
		put(t, s, "a", long)
		r, err := s.Open(t.Context(), "a")
		require.NoError(t, err)
		if _, err := r.ReadAt(make([]byte, 1), 0); err != nil {
			t.Fatal(err)
		}
		put(t, s, "a", long[1:])
		if n, err := r.ReadAt(make([]byte, 5), part); n > 0 || !errors.Is(err, blob.ErrReplaced) {
			t.Errorf("heedless %v: %d bytes of another: %v", heedless, n, err)
		}
		require.NoError(t, s.Delete(t.Context(), "a"))
		if n, err := r.ReadAt(make([]byte, 5), part); n > 0 || !errors.Is(err, blob.ErrReplaced) {
			t.Errorf("%d bytes of what is gone: %v", n, err)
		}
	}
}

// TestALongNewOneTakesNobodysName, though its parts are there.
func TestALongNewOneTakesNobodysName(t *testing.T) {
	t.Parallel()
	s := s3test.Start(t).Store(t, "p")
	w, err := write(t.Context(), s, "a", content(part+5))
	require.NoError(t, err)
	put(t, s, "a", []byte("first"))
	if err := w.PublishNew(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it is published: %v", err)
	}
	if got, err := read(t.Context(), s, "a"); err != nil || string(got) != "first" {
		t.Errorf("%d bytes are there: %v", len(got), err)
	}
}

// TestForbiddenRequestIsReported: a missing bucket, an unknown key and a wrong secret, for a service that checks them.
func TestForbiddenRequestIsReported(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for what, c := range map[string]struct {
		s    blob.Store
		kind bellows.Kind
		says string
	}{
		"no bucket": {server.StoreAs(t, strings.Replace(server.Place("p"), s3test.Bucket, "others", 1), s3test.Key, s3test.Secret), bellows.Config, "there is no such bucket (NoSuchBucket, status 404"},
		"no key":    {server.StoreAs(t, server.Place("p"), "AKIANOBODY", s3test.Secret), bellows.Refused, "InvalidAccessKeyId"},
		"no secret": {server.StoreAs(t, server.Place("p"), s3test.Key, "a guess"), bellows.Refused, "SignatureDoesNotMatch"},
	} {
		for asked, err := range callAll(t, c.s) {
			if err == nil || bellows.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "a guess") {
				t.Errorf("%s, %s: %v, of kind %d", what, asked, err, bellows.KindOf(err))
			}
		}
	}
}

// TestWithoutCredentialsNothingIsAsked, nor without a region; and a service that is not there is named.
func TestWithoutCredentialsNothingIsAsked(t *testing.T) {
	none := t.TempDir() + "/none"
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none} {
		t.Setenv(name, value)
	}
	known := blob.Schemes{"s3": s3.Open}
	server := s3test.Start(t)
	server.Upset(func(_ int, r *http.Request) s3test.Fault {
		t.Errorf("it was asked: %v", r)
		return s3test.Fault{}
	})
	fails := func(place, says, hint string, kind bellows.Kind) {
		t.Helper()
		s, err := known.Open(t.Context(), place)
		require.NoError(t, err)
		for what, err := range callAll(t, s) {
			if err == nil || bellows.KindOf(err) != kind || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), hint) {
				t.Errorf("%s: %v, of kind %d", what, err, bellows.KindOf(err))
			}
		}
	}
	fails(server.Place("p"), "no credentials were found", "AWS_ACCESS_KEY_ID", bellows.Config)
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)
	fails("s3://tests/p", "the region of the bucket is not set", "?region=", bellows.Config)
	t.Setenv("AWS_PROFILE", "nobody")
	if _, err := known.Open(t.Context(), server.Place("p")); bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "AWS_PROFILE") {
		t.Errorf("a profile that is not there: %v", err)
	}
	t.Setenv("AWS_PROFILE", "")

	server.Upset(nil)
	t.Setenv("AWS_ENDPOINT_URL_S3", server.Endpoint)
	s, err := known.Open(t.Context(), "s3://tests/p")
	require.NoError(t, err)
	put(t, s, "a", []byte("by the environment"))
}

// TestMissingServiceIsNamed, by its address.
func TestMissingServiceIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := s3test.Pipe(t)
		server.Hang(errors.New("the cable is out"))
		s := server.Store(t, "p")
		for what, err := range callAll(t, s) {
			if bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "cannot be reached") || !strings.Contains(err.Error(), "see the endpoint") {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestRequestsNameTheirRegion, as the place says it.
func TestRequestsNameTheirRegion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := s3test.Pipe(t)
		for _, region := range []string{"eu-west-1", "us-east-1"} {
			asked := 0
			server.Upset(func(_ int, r *http.Request) s3test.Fault {
				asked++
				if by := r.Header.Get("Authorization"); !strings.Contains(by, "/"+region+"/s3/aws4_request") {
					t.Errorf("it is asked in %s by %s", region, by)
				}
				return s3test.Fault{}
			})
			s := server.StoreAs(t, strings.Replace(server.Place("p"), "us-east-1", region, 1), s3test.Key, s3test.Secret)
			_, err := s.Stat(t.Context(), "a") // the service knows one region
			if want := region == "us-east-1"; errors.Is(err, fs.ErrNotExist) != want || asked == 0 {
				t.Errorf("%s: %v, asked %d times", region, err, asked)
			}
		}
	})
}

// TestBucketInPathOrHost, as the place says it: in the path, where it names an endpoint and says nothing.
func TestBucketInPathOrHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := s3test.Pipe(t)
		for style, inHost := range map[string]bool{"": false, "&use_path_style=true": false, "&use_path_style=false": true} {
			server.Upset(func(_ int, r *http.Request) s3test.Fault {
				if strings.HasPrefix(r.Host, "tests.") != inHost || strings.HasPrefix(r.URL.Path+"/", "/tests/") == inHost {
					t.Errorf("%q: it is asked at %s for %s", style, r.Host, r.URL.Path)
				}
				return s3test.Fault{What: s3test.Answered, Status: 404, Code: "NoSuchKey"}
			})
			s := server.StoreAs(t, server.Place("p")+style, s3test.Key, s3test.Secret)
			if _, err := s.Stat(t.Context(), "a"); err == nil {
				t.Errorf("%q: it is there", style)
			}
		}
	})
}

// TestFailedServiceGetsNoMoreRequests: only where it has refused is a list asked what that means.
func TestFailedServiceGetsNoMoreRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := s3test.Pipe(t)
		s := server.Store(t, "p")
		looks, lists := 0, 0
		server.Upset(func(_ int, r *http.Request) s3test.Fault {
			if r.Method != http.MethodHead {
				lists++
				return s3test.Fault{}
			}
			looks++
			return s3test.Fault{What: s3test.Answered, Status: 500, Code: "InternalError"}
		})
		if _, err := s.Stat(t.Context(), "a"); bellows.KindOf(err) != bellows.IO || !strings.Contains(err.Error(), "the service fails") || looks != 5 || lists != 0 {
			t.Errorf("after %d looks and %d lists: %v", looks, lists, err)
		}
	})
}

// TestOneFaultIsNotNoticed: an answer that fails, is cut short, lost or damaged is asked for again. With -short it is every third request, another third for
// each fault.
func TestOneFaultIsNotNoticed(t *testing.T) {
	t.Parallel()
	long := content(part + 5)
	each := 1
	if testing.Short() {
		each = 3
	}
	for i, f := range []s3test.Fault{{What: s3test.Unasked}, {What: s3test.Unheard}, {What: s3test.Short}, {What: s3test.Stalled},
		{What: s3test.Answered, Status: 500, Code: "InternalError"}, {What: s3test.Answered, Status: 503, Code: "SlowDown"}} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) {
			t.Parallel()
			requests := each
			for at := i % each; at < requests; at += each {
				synctest.Test(t, func(t *testing.T) {
					server := s3test.Pipe(t)
					s := server.Store(t, "p")
					server.Upset(func(n int, _ *http.Request) s3test.Fault {
						if n == at {
							return f
						}
						return s3test.Fault{}
					})
					for name, b := range map[string][]byte{"a": []byte("short"), "b": long} {
						w, err := write(t.Context(), s, name, b)
						if err == nil {
							err = w.PublishNew()
						}
						if err != nil {
							t.Fatalf("request %d: %v", at, err)
						}
						if got, err := read(t.Context(), s, name); err != nil || !bytes.Equal(got, b) {
							t.Fatalf("request %d: %d bytes of %d: %v", at, len(got), len(b), err)
						}
					}
					requests = server.Requests()
				})
			}
			if requests < 11 {
				t.Errorf("there were %d requests", requests)
			}
		})
	}
}

// TestDamagedBytesAreNotReturned flips one bit in transit: it has no effect, or the write fails. A blob that is damaged
// in the service is refused, whole or part by part, and a blob of one part also by a service without checksums.
func TestDamagedBytesAreNotReturned(t *testing.T) {
	t.Parallel()
	short, long := content(1000), content(2*part+5)
	reads := func(r *http.Request) bool { return r.Method == http.MethodGet && r.Header.Get("Range") != "" }
	for _, sumless := range []bool{false, true} {
		server := s3test.Start(t)
		server.Sumless = sumless
		s := server.Store(t, "p")
		put(t, s, "short", short)
		put(t, s, "long", long)
		first := true
		server.Upset(func(_ int, r *http.Request) (f s3test.Fault) {
			if reads(r) && first {
				first, f.What = false, s3test.Damaged
			}
			return f
		})
		if got, err := read(t.Context(), s, "short"); err != nil || !bytes.Equal(got, short) || first {
			t.Errorf("once: %v", err)
		}
		server.Upset(func(_ int, r *http.Request) (f s3test.Fault) {
			if reads(r) {
				f.What = s3test.Damaged
			}
			return f
		})
		for _, name := range []string{"short", "long"} {
			got, err := read(t.Context(), s, name)
			if sumless && name == "long" {
				continue
			}
			if !errors.Is(err, blob.ErrDamaged) || bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), s.URI(name)) || name == "short" && len(got) > 0 {
				t.Errorf("%s: %d bytes were given: %v", name, len(got), err)
			}
		}
		server.Upset(nil)
	}
	server := s3test.Start(t)
	s := server.Store(t, "p")
	for name, b := range map[string][]byte{"short": short, "long": long} {
		server.Upset(func(_ int, r *http.Request) (f s3test.Fault) {
			if r.Method == http.MethodPut {
				f.What = s3test.Damaged
			}
			return f
		})
		w, err := write(t.Context(), s, name, b)
		if err == nil {
			err = w.Publish()
		}
		if bellows.KindOf(err) != bellows.IO || !strings.Contains(err.Error(), "another checksum") {
			t.Errorf("%s: %v", name, err)
		}
		server.Upset(nil)
		if _, err := s.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
}

// TestReaderStopsAtDamage: what it would give again may be what was damaged.
func TestReaderStopsAtDamage(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s := server.Store(t, "p")
	put(t, s, "long", content(part+5))
	r, err := s.Open(t.Context(), "long")
	require.NoError(t, err)
	defer r.Close()
	server.Upset(func(_ int, r *http.Request) (f s3test.Fault) {
		if r.Header.Get("Range") != "" {
			f.What = s3test.Damaged
		}
		return f
	})
	if _, err := io.ReadAll(io.NewSectionReader(r, 0, r.Bytes())); !errors.Is(err, blob.ErrDamaged) {
		t.Errorf("it is given: %v", err)
	}
	server.Upset(nil)
	if n, err := r.ReadAt(make([]byte, 9), 0); n != 0 || !errors.Is(err, blob.ErrDamaged) {
		t.Errorf("%d bytes are returned after that: %v", n, err)
	}
}

// TestAStallEnds calls a service that never answers: each call ends within a minute and a half, and at once when its
// context ends.
func TestAStallEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := s3test.Pipe(t)
		s := server.Store(t, "p")
		put(t, s, "a", []byte("a"))
		server.Upset(func(int, *http.Request) s3test.Fault { return s3test.Fault{What: s3test.Stalled} })
		for _, ask := range []func(ctx context.Context) error{
			func(ctx context.Context) error { return s.Delete(ctx, "a") },
			func(ctx context.Context) error { _, err := s.Open(ctx, "a"); return err },
			func(ctx context.Context) error {
				for _, err := range s.List(ctx, "") {
					return err
				}
				return nil
			},
			func(ctx context.Context) error {
				w, err := write(ctx, s, "a", []byte("b"))
				if err == nil {
					err = w.Publish()
				}
				return err
			},
			func(ctx context.Context) error { _, err := write(ctx, s, "a", make([]byte, part+1)); return err },
		} {
			began := time.Now()
			err := ask(t.Context())
			if took := time.Since(began); took > 101*time.Second || bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "no answer within") {
				t.Errorf("after %v: %v", took, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			began = time.Now()
			go func() {
				<-time.After(time.Second)
				cancel()
			}()
			err = ask(ctx)
			if took := time.Since(began); took > 4*time.Second || bellows.KindOf(err) != bellows.Interrupted {
				t.Errorf("given up after %v: %v", took, err)
			}
		}
	})
}

// TestALongBlobIsSeenWhole: not before it is published, and never where it is given up, which leaves no part of it.
func TestALongBlobIsSeenWhole(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s := server.Store(t, "p")
	var mu sync.Mutex
	begun, over := 0, 0
	server.Upset(func(_ int, r *http.Request) s3test.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch q := r.URL.Query(); {
		case q.Has("uploads") && r.Method == http.MethodPost:
			begun++
		case q.Has("uploadId") && r.Method == http.MethodDelete:
			over++
		}
		return s3test.Fault{}
	})
	long := content(3*part + 1)
	w, err := write(t.Context(), s, "a", long)
	require.NoError(t, err)
	if _, err := s.Stat(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is seen before it is there: %v", err)
	}
	if err := w.Close(); err != nil || begun != 1 || over != 1 {
		t.Errorf("%d uploads were begun, %d given up: %v", begun, over, err)
	}
	put(t, s, "a", long)
	put(t, s, "b", long[:part]) // in one request
	if begun != 2 || over != 1 {
		t.Errorf("%d uploads were begun, %d given up", begun, over)
	}
	r, err := s.Open(t.Context(), "a")
	require.NoError(t, err)
	for _, at := range []int{3*part - 1, 0, part - 3, 2 * part, part + 7} { // here and there, over its parts
		b := make([]byte, 9)
		if n, err := r.ReadAt(b, int64(at)); !bytes.Equal(b[:n], long[at:min(at+9, len(long))]) || n < 9 && err != io.EOF {
			t.Errorf("at %d: %x, %v", at, b[:n], err)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	if w, err = write(ctx, s, "c", long); err != nil {
		t.Fatal(err)
	}
	end()
	if err := w.Publish(); !errors.Is(err, context.Canceled) || begun != 3 || over != 2 {
		t.Errorf("%d uploads were begun, %d given up: %v", begun, over, err)
	}
}

// TestAbandonedUploadIsRemoved by the next that sends a long blob, a day later.
func TestAbandonedUploadIsRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := s3test.Pipe(t)
		long := make([]byte, part+1)
		if _, err := write(t.Context(), server.Store(t, "p"), "a", long); err != nil { // its process is killed here
			t.Fatal(err)
		}
		var gone []string
		server.Upset(func(_ int, r *http.Request) s3test.Fault {
			if r.Method == http.MethodDelete {
				gone = append(gone, r.URL.Path)
			}
			return s3test.Fault{}
		})
		<-time.After(23 * time.Hour)
		put(t, server.Store(t, "p"), "b", long)
		if len(gone) > 0 {
			t.Errorf("%v went before its day was over", gone)
		}
		<-time.After(2 * time.Hour)
		put(t, server.Store(t, "other"), "b", long)
		if len(gone) > 0 {
			t.Errorf("%v went, which was below another prefix", gone)
		}
		put(t, server.Store(t, "p"), "b", long)
		if len(gone) != 1 || gone[0] != "/tests/p/a" {
			t.Errorf("removed were %v", gone)
		}
	})
}
