// Package s3 stores blobs in a bucket of Amazon's S3, or of a compatible service: a blob is the object of its name
// below a prefix.
//
// Open a Store by a URI such as s3://bucket/prefix. A query after it may set
//
//	endpoint        where the service is, such as http://127.0.0.1:9000, if it is not Amazon's
//	region          of the bucket
//	use_path_style  true: requests name the bucket in their path; false: in their host. Default: true with an endpoint
//
// Other settings and the credentials are found where Amazon's own tools look, as package awsconfig says: in environment
// variables such as AWS_REGION, AWS_ENDPOINT_URL_S3 and AWS_ACCESS_KEY_ID, in the profile of the files of ~/.aws that
// AWS_PROFILE names, or in the role of the machine. No URI has credentials, so no log, command line or manifest does.
//
// A blob of up to 8 MiB is put in one request. A longer one is sent in parts of that size, which become visible with
// the last request. Both are sent with their CRC-32C, which the service checks. The parts left by a killed process are
// invisible; the next writer of a long blob below the same prefix removes those that are a day old.
//
// A read requests stretches of 8 MiB of the object that was opened and of no other. A blob of up to 8 MiB is checked
// against its checksum before any byte of it is returned; a longer one when it was read from beginning to end.
//
// Every call ends: a request after attemptMost, with its repetitions after callMost, at most attempts-1 of them.
//
// The package refuses URIs with a user or a password, endpoints with a path, directory buckets, which list in no order,
// and blobs of more than 10,000 parts. It lists only objects with the name of a blob, or all if Options allow those of
// others.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"bellows"
	"bellows/port/blob"
	"bellows/port/blob/s3/internal/awsconfig"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// The times that bound a call. A part of 8 MiB passes in attemptMost where 280 KB pass in a second.
const (
	dialMost    = 5 * time.Second
	attemptMost = 30 * time.Second
	callMost    = 90 * time.Second
	backoffMost = 5 * time.Second
	attempts    = 5
)

// prefixBytesMost is the longest prefix: of the 1,024 bytes of a key names may have 768.
const prefixBytesMost = 255

var (
	bucketForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$`)
	prefixForm = regexp.MustCompile(`^([A-Za-z0-9_=][A-Za-z0-9_=.-]*(/[A-Za-z0-9_=][A-Za-z0-9_=.-]*)*)?$`)
)

// Store is a prefix of a bucket.
//
// Lock: swept, for the time of one look for what killed processes have left, which is bounded.
type Store struct {
	client *client
	bucket string
	prefix string // "", or with a slash at its end
	others bool   // names that others have given are read
	scheme string
	swept  sync.Once
}

// Options are settings of a program in addition to the URI. The zero value is right except in tests.
type Options struct {
	Dial        func(ctx context.Context, network, address string) (net.Conn, error) // nil: as usual
	Key, Secret string                                                               // "": found as the package says
	Others      bool                                                                 // blobs that others have put there are read and listed, whatever their names
}

// Open returns the store of a URI, as the package comment says. It sends no request: the first call shows whether the
// bucket exists. Errors are of kind Config.
func Open(ctx context.Context, at *url.URL) (blob.Store, error) { return Options{}.Open(ctx, at) }

// Open returns the store of a URI, with these options.
func (o Options) Open(_ context.Context, at *url.URL) (blob.Store, error) {
	p, err := placeOf(at)
	if err != nil {
		return nil, err
	}
	if p.scheme == googleScheme {
		p.atGoogle()
	}
	settings, err := awsconfig.Load()
	if err != nil {
		return nil, bellows.Errorf(bellows.Config, "open storage", p.uri(), "read the AWS settings: %w", err).Hinted("see AWS_PROFILE and the files of ~/.aws")
	}
	c, err := o.connect(p, settings)
	if err != nil {
		return nil, bellows.Errorf(bellows.Config, "open storage", p.uri(), "%w", err).Hinted("see the endpoint, AWS_ENDPOINT_URL and AWS_CA_BUNDLE")
	}
	return &Store{client: c, scheme: p.scheme, bucket: p.bucket, prefix: p.prefix, others: o.Others}, nil
}

// place is what a URI says.
type place struct {
	scheme           string
	bucket, prefix   string
	endpoint, region string
	pathStyle        *bool
	elsewhere        bool // the service is not Amazon's, or at an address that was given
}

func (p *place) uri() string {
	return strings.TrimSuffix(p.scheme+"://"+p.bucket+"/"+p.prefix, "/")
}

// placeOf parses a URI. Its errors show no user, which may be a secret.
func placeOf(at *url.URL) (*place, error) {
	p := &place{scheme: at.Scheme, bucket: at.Host, prefix: strings.Trim(at.Path, "/")}
	refuse := func(hint, format string, args ...any) (*place, error) {
		shown := place{scheme: at.Scheme, bucket: at.Host, prefix: p.prefix}
		return nil, bellows.Errorf(bellows.Config, "open storage", shown.uri(), format, args...).Hinted(hint)
	}
	form := "write it as " + at.Scheme + "://bucket/prefix, then, if needed, ?endpoint=…&region=… where they are needed"
	switch {
	case at.User != nil:
		return refuse("give them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or by AWS_PROFILE", "a URI has no credentials: it is logged")
	case !bucketForm.MatchString(p.bucket), s3utils.CheckValidBucketName(p.bucket) != nil:
		return refuse(form, "%q is no name of a bucket", bellows.Printable(p.bucket, 80))
	case strings.HasSuffix(p.bucket, "--x-s3"):
		return refuse("use a general purpose bucket", "a directory bucket lists its objects in no order")
	case !prefixForm.MatchString(p.prefix) || len(p.prefix) > prefixBytesMost:
		return refuse(form, "a prefix has at most %d bytes, in parts of letters, digits, _ = . -", prefixBytesMost)
	case at.Fragment != "":
		return refuse(form, "it has a part behind #")
	}
	if p.prefix != "" {
		p.prefix += "/"
	}
	query, err := url.ParseQuery(at.RawQuery)
	if err != nil {
		return refuse(form, "what stands behind ? cannot be read")
	}
	for name, values := range query {
		value := values[0]
		switch {
		case len(values) > 1:
			return refuse(form, "it says %s twice", bellows.Printable(name, 40))
		case name == "region" && value != "":
			p.region = value
		case name == "use_path_style" && (value == "true" || value == "false"):
			b := value == "true"
			p.pathStyle = &b
		case name == "endpoint":
			e, err := url.Parse(value)
			if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil || e.RawQuery != "" || e.Fragment != "" {
				return refuse("write it such as endpoint=http://127.0.0.1:9000", "its endpoint is no address of a service")
			}
			if strings.Trim(e.Path, "/") != "" {
				return refuse("name one that answers at the root of its host", "its endpoint has the path %s", bellows.Printable(e.Path, 80))
			}
			p.endpoint = value
		default:
			return refuse("known are endpoint, region and use_path_style=true or false", "it says %s, which means nothing, or with a value that it cannot have", bellows.Printable(name, 40))
		}
	}
	return p, nil
}

// URI implements blob.Store. It is without the query.
func (s *Store) URI(name string) string {
	p := place{scheme: s.scheme, bucket: s.bucket, prefix: s.prefix + name}
	return p.uri()
}

// check refuses a name that is not read.
func (s *Store) check(name string) error {
	if s.others {
		return blob.CheckForeign(name)
	}
	return blob.CheckName(name)
}

// objectKey returns the key of a blob's object.
func (s *Store) objectKey(name string) string { return s.prefix + name }

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, name string) (blob.Info, error) {
	o, err := s.look(ctx, "look at", name)
	return blob.Info{Name: name, Bytes: o.bytes, Version: o.etag}, err
}

// object is one as it was when it was looked at.
type object struct {
	bytes  int64
	etag   string
	writer string // its publisher's random word
	sum    checksum
}

// look asks for an object. The answer has no text: what an error means is found out by a list.
func (s *Store) look(ctx context.Context, op, name string) (o object, err error) {
	if err := s.check(name); err != nil {
		return o, err
	}
	err = s.call(ctx, op, name, func(ctx context.Context) error {
		var out minio.ObjectInfo
		err := s.client.try(ctx, func(ctx context.Context) (err error) {
			out, err = s.client.StatObject(ctx, s.bucket, s.objectKey(name), minio.StatObjectOptions{Checksum: true})
			return err
		})
		if err != nil {
			return s.why(ctx, name, err)
		}
		o = object{bytes: out.Size, etag: out.Headers.Get("ETag"), writer: out.Headers.Get(metadata + writerKey), sum: checksumOf(out.Headers)}
		return nil
	})
	return o, err
}

// metadata is what the header of a value of an object's metadata begins with.
const metadata = "X-Amz-Meta-"

// why returns the meaning of the error of a HEAD.
func (s *Store) why(ctx context.Context, name string, err error) error {
	status := statusOf(err)
	if status < http.StatusMovedPermanently || status >= http.StatusInternalServerError {
		return err
	}
	if _, listed := s.page(ctx, name, "", 1); listed != nil {
		return listed
	}
	if status == http.StatusNotFound {
		return fs.ErrNotExist
	}
	return err
}

// errNoToken says that a service breaks off a list.
var errNoToken = errors.New("the service says that the list has more objects, and not how to continue it")

// page returns one page of a list, with at most so many objects; 0: as many as the service gives.
func (s *Store) page(ctx context.Context, prefix, token string, most int) (page minio.ListBucketV2Result, err error) {
	err = s.client.try(ctx, func(ctx context.Context) error {
		lister, err := s.client.lister(ctx)
		if err == nil {
			page, err = lister.ListObjectsV2(s.bucket, s.objectKey(prefix), "", token, "", most)
		}
		return err
	})
	// The library refuses a list that continues without a token. A caller that wants one object ignores the rest.
	if a := answerOf(err); a != nil && a.StatusCode == 0 && a.Code == minio.NotImplemented {
		if err = errNoToken; most == 1 {
			err = nil
		}
	}
	return page, err
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		for token := ""; ; {
			var page minio.ListBucketV2Result
			err := s.call(ctx, "list", "", func(ctx context.Context) (err error) {
				page, err = s.page(ctx, prefix, token, 0)
				return err
			})
			if err != nil {
				yield(blob.Info{}, err)
				return
			}
			for i := range page.Contents {
				o := &page.Contents[i]
				name := strings.TrimPrefix(o.Key, s.prefix)
				if s.check(name) == nil && !yield(blob.Info{Name: name, Bytes: o.Size, Version: o.ETag}, nil) {
					return
				}
			}
			if !page.IsTruncated {
				return
			}
			if page.NextContinuationToken == token {
				yield(blob.Info{}, s.fault(ctx, "list", "", errNoToken))
				return
			}
			token = page.NextContinuationToken
		}
	}
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := blob.CheckName(name); err != nil {
		return err
	}
	return s.call(ctx, "delete", name, func(ctx context.Context) error {
		err := s.client.try(ctx, func(ctx context.Context) error {
			return s.client.RemoveObject(ctx, s.bucket, s.objectKey(name), minio.RemoveObjectOptions{})
		})
		if codeOf(err) == minio.NoSuchKey {
			return nil
		}
		return err
	})
}

var errLate = fmt.Errorf("no answer within %v", callMost)

// call calls a function, repetitions included, for at most callMost.
func (s *Store) call(ctx context.Context, op, name string, do func(ctx context.Context) error) error {
	err := ctx.Err()
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, callMost)
		defer cancel()
		if err = do(bounded); err != nil && bounded.Err() != nil && ctx.Err() == nil {
			err = errLate
		}
	}
	return s.fault(ctx, op, name, err)
}

// abandoned is the age at which an upload that did not end is removed, and sweepMost how long that is looked for.
const (
	abandoned = 24 * time.Hour
	sweepMost = 10 * time.Second
)

// sweep removes what killed processes have left of long blobs. Failures are left to the next sweep: such parts are
// never read.
func (s *Store) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepMost)
	defer cancel()
	var page minio.ListMultipartUploadsResult
	for range 100 {
		err := s.client.try(ctx, func(ctx context.Context) (err error) {
			page, err = s.client.ListMultipartUploads(ctx, s.bucket, s.prefix, page.NextKeyMarker, page.NextUploadIDMarker, "", 0)
			return err
		})
		if err != nil {
			return
		}
		for i := range page.Uploads {
			if u := &page.Uploads[i]; !u.Initiated.IsZero() && time.Since(u.Initiated) >= abandoned {
				_ = s.abort(ctx, u.Key, u.UploadID)
			}
		}
		if !page.IsTruncated {
			return
		}
	}
}

// abort gives up an upload.
func (s *Store) abort(ctx context.Context, key, upload string) error {
	return s.client.try(ctx, func(ctx context.Context) error {
		return s.client.AbortMultipartUpload(ctx, s.bucket, key, upload)
	})
}
