package s3

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"bellows"
	"bellows/port/blob"
	"bellows/port/blob/s3/internal/awsconfig"

	"github.com/minio/minio-go/v7"
)

// meaning is what an answer of the service means to the caller.
type meaning struct {
	codes  []string // of the protocol
	status int      // of HTTP, where no code is known; 0: none
	kind   bellows.Kind
	says   string
	cause  error // of the port; nil: none
	hint   string
}

const needs = "the caller needs s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on what is in it"

// meanings are tried in this order, all codes before the first status.
var meanings = []meaning{
	{codes: []string{"NoSuchBucket"}, kind: bellows.Config, says: "there is no such bucket", hint: "make it, or name another; see also the endpoint"},
	{codes: []string{"InvalidBucketName"}, kind: bellows.Config, says: "the service has no buckets of such a name", hint: "name another"},
	{codes: []string{"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidSecurity", "InvalidClientTokenId"},
		kind: bellows.Refused, cause: fs.ErrPermission, says: "the service does not take the credentials", hint: "see AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or AWS_PROFILE; those for a time may be over"},
	{codes: []string{"RequestTimeTooSkewed", "RequestExpired"}, kind: bellows.Config, says: "this machine's clock is not that of the service", hint: "set it, by NTP say"},
	{codes: []string{"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "TemporaryRedirect"}, status: http.StatusMovedPermanently,
		kind: bellows.Config, says: "the bucket is in another region", hint: "set it: ?region=… after the place, or AWS_REGION"},
	{codes: []string{"AccessDenied", "AllAccessDisabled", "AccountProblem", "Forbidden", "UnauthorizedAccess"}, status: http.StatusForbidden,
		kind: bellows.Refused, cause: fs.ErrPermission, says: "it is not allowed", hint: needs},
	{codes: []string{"SlowDown", "ServiceUnavailable", "Throttling", "ThrottlingException", "TooManyRequests", "TooManyRequestsException", "RequestLimitExceeded", "BandwidthLimitExceeded"}, status: http.StatusServiceUnavailable,
		kind: bellows.IO, says: fmt.Sprintf("the service is asked too much, %d times in a row", attempts), hint: "ask it less often, or later"},
	{codes: []string{"QuotaExceeded", "StorageFull", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientCapacity", "EntityTooLarge"}, status: http.StatusInsufficientStorage,
		kind: bellows.CannotWrite, cause: blob.ErrFull, says: "the service takes no more", hint: "free some space, or have its quota raised"},
	{codes: []string{"BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"}, kind: bellows.IO, says: "what was sent came with another checksum", hint: "try again; what is on the way changes it"},
	{status: http.StatusInternalServerError, kind: bellows.IO, says: fmt.Sprintf("the service fails, %d times in a row", attempts), hint: "try again later"},
}

// meaningOf returns the meaning of an answer; nil if it is unknown.
func meaningOf(code string, status int) *meaning {
	i := slices.IndexFunc(meanings, func(m meaning) bool { return slices.Contains(m.codes, code) })
	if i < 0 {
		i = slices.IndexFunc(meanings, func(m meaning) bool { return m.status == status && status != 0 })
	}
	if i < 0 {
		return nil
	}
	return &meanings[i]
}

// answerOf returns an error that the service gave; nil: it gave none. A code that the library makes of the status alone is left out.
func answerOf(err error) *minio.ErrorResponse {
	var a minio.ErrorResponse
	if !errors.As(err, &a) {
		return nil
	}
	if strings.HasPrefix(a.Code, strconv.Itoa(a.StatusCode)+" ") {
		a.Code = ""
	}
	return &a
}

// codeOf returns the protocol's code of an error that the service gave; "": it gave none.
func codeOf(err error) string {
	if a := answerOf(err); a != nil {
		return a.Code
	}
	return ""
}

// statusOf returns the HTTP status of an error that the service gave; 0: it gave none.
func statusOf(err error) int {
	if a := answerOf(err); a != nil {
		return a.StatusCode
	}
	return 0
}

// answerBytesMost bounds the part of a service's own message that is shown.
const answerBytesMost = 200

// fault converts the error of a call to one of the port. Its text has no address of a request, and no credentials.
func (s *Store) fault(ctx context.Context, op, name string, err error) error {
	uri := s.URI(name)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return blob.Fault(op, uri, ctx.Err())
	case isOfPort(err):
		return blob.Fault(op, uri, err)
	}
	e := &bellows.Error{Kind: bellows.IO, Op: op, Subject: uri, Err: err}
	if a := answerOf(err); a != nil {
		code, status := a.Code, a.StatusCode
		said := strings.TrimPrefix(fmt.Sprintf("%s, status %d", code, status), ", ")
		if a.Message != "" {
			said += ": " + bellows.Printable(a.Message, answerBytesMost)
		}
		m := meaningOf(code, status)
		if m == nil {
			e.Err = fmt.Errorf("the service answers %s", said)
			return e
		}
		if e.Kind, e.Hint, e.Err = m.kind, m.hint, fmt.Errorf("%s (%s)", m.says, said); m.cause != nil {
			e.Err = fmt.Errorf("%s (%s): %w", m.says, said, m.cause)
		}
		return e
	}
	s.unanswered(e, err)
	return e
}

// unanswered says why no answer came.
func (s *Store) unanswered(e *bellows.Error, err error) {
	var op *net.OpError
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var named x509.HostnameError
	var none *awsconfig.Error
	text := err.Error()
	e.Kind, e.Hint = bellows.Unavailable, "see the endpoint, the region and the network"
	switch {
	case errors.Is(err, errLate):
	case errors.As(err, &none):
		e.Kind, e.Err, e.Hint = bellows.Config, errors.New("no credentials were found for it"), "give them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, by AWS_PROFILE, or by a role of this machine"
		if none.Err != nil {
			e.Err = fmt.Errorf("no credentials were found for it: %s", bellows.Printable(none.Err.Error(), 3*answerBytesMost))
		}
		e.Hint = cmp.Or(none.Hint, e.Hint)
	case errors.Is(err, errNoRegion):
		e.Kind, e.Err, e.Hint = bellows.Config, errNoRegion, "add ?region=REGION to the place, or set AWS_REGION"
	case errors.Is(err, errOtherHost):
		e.Kind, e.Err, e.Hint = bellows.Config, errOtherHost, "check the region, and the endpoint: one of Amazon's must be that of the region"
	case errors.As(err, &dns):
		e.Err = fmt.Errorf("no host is called %s", bellows.Printable(dns.Name, answerBytesMost))
	case errors.As(err, &unknown), errors.As(err, &named):
		e.Err, e.Hint = errors.New("the service cannot prove its identity: its certificate is not trusted"), "see the endpoint; name the authority's certificate in AWS_CA_BUNDLE"
	case errors.As(err, &op):
		e.Err = fmt.Errorf("the service cannot be reached: %w", op.Err)
		if op.Addr != nil {
			e.Err = fmt.Errorf("the service at %v cannot be reached: %w", op.Addr, op.Err)
		}
	case errors.Is(err, errCut):
		e.Err = errCut
	case errors.Is(err, context.DeadlineExceeded):
		e.Err = fmt.Errorf("no answer within %v, %d times in a row", attemptMost, attempts)
	default:
		e.Kind, e.Err, e.Hint = bellows.IO, errors.New(bellows.Printable(text, 3*answerBytesMost)), ""
	}
}

// isOfPort reports whether an error is one that the port has a name for.
func isOfPort(err error) bool {
	for _, known := range []error{fs.ErrNotExist, fs.ErrExist, blob.ErrFull, blob.ErrReplaced, blob.ErrClosed, blob.ErrDamaged} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
