package s3

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"testing"

	"bellows"
	"bellows/port/blob"

	"github.com/minio/minio-go/v7"
)

// TestMeaningsGoByCodesThenByStatus; what is in neither list means nothing that is known.
func TestMeaningsGoByCodesThenByStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code   string
		status int
		says   string // ""; unknown
	}{
		{"NoSuchBucket", http.StatusNotFound, "there is no such bucket"},
		{"SlowDown", http.StatusForbidden, meanings[6].says},
		{"Strange", http.StatusForbidden, "it is not allowed"},
		{"", http.StatusInternalServerError, meanings[len(meanings)-1].says},
		{"Strange", http.StatusTeapot, ""},
		{"Strange", 0, ""},
		{"", 0, ""},
	} {
		m := meaningOf(c.code, c.status)
		if (m == nil) != (c.says == "") || m != nil && m.says != c.says {
			t.Errorf("%q with status %d means %+v, want %q", c.code, c.status, m, c.says)
		}
	}
}

// TestAFaultHasItsCause, by which callers go, and what the service says of it.
func TestAFaultHasItsCause(t *testing.T) {
	t.Parallel()
	s := &Store{scheme: "s3", bucket: "bucket", prefix: "p/"}
	for code, c := range map[string]struct {
		cause error // nil: none of the port's
		says  string
	}{
		"AccessDenied":  {fs.ErrPermission, "put s3://bucket/p/a: it is not allowed (AccessDenied, status 0: as it says): permission denied; " + needs},
		"QuotaExceeded": {blob.ErrFull, "put s3://bucket/p/a: the service takes no more (QuotaExceeded, status 0: as it says): no space is left; free some space, or have its quota raised"},
		"SlowDown":      {nil, fmt.Sprintf("put s3://bucket/p/a: the service is asked too much, %d times in a row (SlowDown, status 0: as it says); ask it less often, or later", attempts)},
		"Strange":       {nil, "put s3://bucket/p/a: the service answers Strange, status 0: as it says"},
	} {
		err := s.fault(t.Context(), "put", "a", fmt.Errorf("below: %w", minio.ErrorResponse{Code: code, Message: "as it says"}))
		if err.Error() != c.says || c.cause != nil && !errors.Is(err, c.cause) || c.cause == nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, blob.ErrFull)) || bellows.KindOf(err) == 0 {
			t.Errorf("%s: %v, want %s", code, err, c.says)
		}
	}
}
