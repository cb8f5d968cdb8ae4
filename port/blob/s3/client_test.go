package s3_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"bellows"
	"bellows/internal/require"
	"bellows/port/blob"
	"bellows/port/blob/s3"
	"bellows/port/blob/s3/s3test"
)

// unset clears the variables of Amazon's tools, and names files that do not exist.
func unset(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
}

// TestRequestsOfEachCall counts them: the client library must not add requests for regions or checks, or repeat any.
func TestRequestsOfEachCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := s3test.Pipe(t)
		s := server.Store(t, "p")
		var sent []string
		calls := func(want string, do func() error) {
			t.Helper()
			sent = nil
			server.Upset(func(_ int, r *http.Request) s3test.Fault {
				names := []string{}
				for name := range r.URL.Query() {
					if slices.Contains([]string{"list-type", "uploads", "uploadId", "partNumber", "location"}, name) {
						names = append(names, name)
					}
				}
				slices.Sort(names)
				sent = append(sent, strings.TrimSuffix(r.Method+"?"+strings.Join(names, "&"), "?"))
				if hash := r.Header.Get("X-Amz-Content-Sha256"); strings.HasPrefix(hash, "STREAMING") || r.Header.Get("X-Amz-Trailer") != "" || r.Header.Get("Content-Encoding") != "" || len(r.TransferEncoding) > 0 {
					t.Errorf("%s %v is sent in chunks: %s", r.Method, r.URL, hash)
				}
				return s3test.Fault{}
			})
			if err := do(); err != nil {
				t.Error(err)
			}
			if got := strings.Join(sent, " "); got != want {
				t.Errorf("sent were %q, not %q", got, want)
			}
		}
		long := content(2*part + 1)
		writes := func(b []byte) func() error {
			return func() error {
				w, err := write(t.Context(), s, "a", b)
				return errors.Join(err, w.Publish())
			}
		}
		calls("PUT", writes(nil))
		calls("PUT", writes(long[:part]))
		calls("HEAD", func() error { _, err := s.Stat(t.Context(), "a"); return err })
		calls("GET?list-type", func() error {
			for _, err := range s.List(t.Context(), "") {
				return err
			}
			return nil
		})
		calls("GET?uploads POST?uploads PUT?partNumber&uploadId PUT?partNumber&uploadId PUT?partNumber&uploadId POST?uploadId", writes(long))
		calls("POST?uploads PUT?partNumber&uploadId PUT?partNumber&uploadId PUT?partNumber&uploadId POST?uploadId", writes(long))
		calls("HEAD GET GET GET", func() error {
			got, err := read(t.Context(), s, "a")
			if !bytes.Equal(got, long) {
				t.Error("it is another")
			}
			return err
		})
		calls("DELETE", func() error { return s.Delete(t.Context(), "a") })
	})
}

// TestBrokenListsAreRefused ends a list that a service breaks off, or that it would never end.
func TestBrokenListsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ token, says string }{
		"no token":  {"", "not how to continue it"},
		"one token": {"<NextContinuationToken>again</NextContinuationToken>", "not how to continue it"},
		"no list":   {"<Unfinished>", "XML syntax error"},
	} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			fmt.Fprintf(w, "<ListBucketResult><IsTruncated>true</IsTruncated>%s<Contents><Key>p/a%d</Key><Size>1</Size><ETag>&#34;e&#34;</ETag></Contents></ListBucketResult>", c.token, requests)
		}))
		defer server.Close()
		s, err := blob.Schemes{"s3": s3.Options{Key: "k", Secret: "s"}.Open}.Open(t.Context(), "s3://bucket/p?endpoint="+server.URL)
		require.NoError(t, err)
		n := 0
		for info, wrong := range s.List(t.Context(), "") {
			if err = wrong; err == nil {
				n++
			}
			if err == nil && info.Version != `"e"` {
				t.Errorf("%s: %+v", name, info)
			}
		}
		if bellows.KindOf(err) != bellows.IO || !strings.Contains(err.Error(), c.says) || requests > 2 || n > 2 {
			t.Errorf("%s: after %d objects of %d requests: %v", name, n, requests, err)
		}
	}
}

// TestUploadsWithoutADateStay: nothing says that their writers have ended.
func TestUploadsWithoutADateStay(t *testing.T) {
	t.Parallel()
	var removed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case r.Method == http.MethodDelete:
			removed = append(removed, q.Get("uploadId"))
			w.WriteHeader(http.StatusNoContent)
		case q.Has("uploads") && r.Method == http.MethodGet:
			fmt.Fprint(w, "<ListMultipartUploadsResult><Upload><Key>p/a</Key><UploadId>undated</UploadId></Upload>"+
				"<Upload><Key>p/b</Key><UploadId>old</UploadId><Initiated>2001-01-01T00:00:00Z</Initiated></Upload></ListMultipartUploadsResult>")
		case q.Has("uploads"):
			fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>own</UploadId></InitiateMultipartUploadResult>")
		}
	}))
	defer server.Close()
	s, err := blob.Schemes{"s3": s3.Options{Key: "k", Secret: "s"}.Open}.Open(t.Context(), "s3://bucket/p?endpoint="+server.URL)
	require.NoError(t, err)
	if _, err := write(t.Context(), s, "c", make([]byte, part+1)); err != nil || !slices.Equal(removed, []string{"old"}) {
		t.Errorf("removed were %v: %v", removed, err)
	}
}

// TestAmazonsHosts checks that requests go only to the host of the region and of the settings.
func TestAmazonsHosts(t *testing.T) {
	for _, c := range []struct{ uri, settings, want string }{
		{"s3://bucket?region=eu-west-1", "", "bucket.s3.eu-west-1.amazonaws.com:443"},
		{"s3://bucket", "AWS_REGION=us-east-1", "bucket.s3.us-east-1.amazonaws.com:443"},
		{"s3://my.bucket?region=eu-west-1", "", "s3.eu-west-1.amazonaws.com:443"},
		{"s3://bucket?region=eu-west-1&use_path_style=true", "", "s3.eu-west-1.amazonaws.com:443"},
		{"s3://bucket?region=cn-north-1", "", "bucket.s3.cn-north-1.amazonaws.com.cn:443"},
		{"s3://bucket?region=us-isob-west-1", "", "bucket.s3.us-isob-west-1.sc2s.sgov.gov:443"},
		{"s3://bucket?region=us-gov-west-1", "AWS_USE_FIPS_ENDPOINT=true", "bucket.s3-fips.us-gov-west-1.amazonaws.com:443"},
		{"s3://bucket?region=eu-west-1", "AWS_USE_DUALSTACK_ENDPOINT=true", "bucket.s3.dualstack.eu-west-1.amazonaws.com:443"},
		{"s3://bucket?endpoint=https://s3.eu-west-1.amazonaws.com", "", "s3.eu-west-1.amazonaws.com:443"},
		{"s3://bucket?endpoint=https://s3.amazonaws.com", "", "s3.us-east-1.amazonaws.com:443"},
		{"s3://bucket?endpoint=https://s3.amazonaws.com", "AWS_REGION=eu-west-1", "s3.eu-west-1.amazonaws.com:443"},
		{"s3://bucket?endpoint=https://s3-eu-west-1.amazonaws.com", "", "s3.eu-west-1.amazonaws.com:443"},
		{"s3://bucket?endpoint=https://s3.dualstack.eu-west-1.amazonaws.com", "", "s3.dualstack.eu-west-1.amazonaws.com:443"},
		{"s3://bucket?endpoint=https://s3-fips.eu-west-1.amazonaws.com", "", "s3-fips.eu-west-1.amazonaws.com:443"},
		{"s3://bucket?endpoint=https://bucket.vpce-1a-2b.s3.eu-west-1.vpce.amazonaws.com", "", "bucket.vpce-1a-2b.s3.eu-west-1.vpce.amazonaws.com:443"},
		{"s3://bucket?endpoint=http://127.0.0.1:80", "", "127.0.0.1:80"},
		{"gs://bucket", "", "storage.googleapis.com:443"},
		{"s3://bucket?region=moon-west-1", "", ""}, // the library would ask us-east-1
		{"s3://bucket?region=eu-west-1&endpoint=https://s3.us-east-1.amazonaws.com", "", ""},
	} {
		t.Run(c.uri+" "+c.settings, func(t *testing.T) {
			unset(t)
			if name, value, ok := strings.Cut(c.settings, "="); ok {
				t.Setenv(name, value)
			}
			asked := ""
			o := s3.Options{Key: "k", Secret: "s", Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
				asked = address
				return nil, &net.DNSError{Err: "by the test", Name: address, IsNotFound: true}
			}}
			s, err := blob.Schemes{"s3": o.Open, "gs": o.Open}.Open(t.Context(), c.uri)
			require.NoError(t, err)
			_, err = s.Stat(t.Context(), "a")
			kind, says := bellows.Unavailable, "no host is called "+c.want
			if c.want == "" {
				kind, says = bellows.Config, "knows no address of the region"
			}
			if asked != c.want || bellows.KindOf(err) != kind || !strings.Contains(err.Error(), says) {
				t.Errorf("asked is %q: %v", asked, err)
			}
		})
	}
}

// TestCertificates trusts a service by AWS_CA_BUNDLE, and by nothing else asks one that is not trusted.
func TestCertificates(t *testing.T) {
	unset(t)
	requests := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests++ }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	uri := "s3://bucket/p?endpoint=" + server.URL
	known := blob.Schemes{"s3": s3.Options{Key: "k", Secret: "s"}.Open}
	s, err := known.Open(t.Context(), uri)
	require.NoError(t, err)
	if err := s.Delete(t.Context(), "a"); bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "its certificate is not trusted") || requests > 0 {
		t.Errorf("after %d requests: %v", requests, err)
	}
	bundle := filepath.Join(t.TempDir(), "authority.pem")
	t.Setenv("AWS_CA_BUNDLE", bundle)
	if _, err := known.Open(t.Context(), uri); bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "AWS_CA_BUNDLE") {
		t.Errorf("there is no bundle: %v", err)
	}
	for content, want := range map[string]string{"none": "has no certificates", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})): ""} {
		require.NoError(t, os.WriteFile(bundle, []byte(content), 0o600))
		s, err := known.Open(t.Context(), uri)
		if err == nil {
			_, err = s.Stat(t.Context(), "a")
		}
		if want == "" && requests == 0 || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%d requests: %v", requests, err)
		}
	}
}

// TestSettingsOfTheMachine uses the endpoint of a profile and the credentials of a metadata service. Each request has the session's token, signed.
func TestSettingsOfTheMachine(t *testing.T) {
	unset(t)
	server := s3test.Start(t)
	searches := 0
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		searches++
		switch {
		case r.Method == http.MethodPut:
			fmt.Fprint(w, "token")
		case strings.HasSuffix(r.URL.Path, "/role"):
			fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":%q,"SecretAccessKey":%q,"Token":"session","Expiration":"2099-01-02T03:04:05Z"}`, s3test.Key, s3test.Secret)
		default:
			fmt.Fprint(w, "role")
		}
	}))
	defer metadata.Close()
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL)
	config := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(config, []byte("[profile lab]\nregion = us-east-1\nservices = lab\n[services lab]\ns3 =\n  endpoint_url = "+server.Endpoint+"\n"), 0o600))
	t.Setenv("AWS_CONFIG_FILE", config)
	t.Setenv("AWS_PROFILE", "lab")
	server.Upset(func(_ int, r *http.Request) s3test.Fault {
		if by := r.Header.Get("Authorization"); r.Header.Get("X-Amz-Security-Token") != "session" || !strings.Contains(by, "x-amz-security-token") {
			t.Errorf("it is asked without the session's token: %s", by)
		}
		return s3test.Fault{}
	})
	s, err := blob.Schemes{"s3": s3.Open}.Open(t.Context(), "s3://"+s3test.Bucket+"/p")
	require.NoError(t, err)
	put(t, s, "a", []byte("by a machine"))
	if got, err := read(t.Context(), s, "a"); err != nil || string(got) != "by a machine" || searches != 3 || server.Requests() != 3 {
		t.Errorf("%q after %d requests and %d for credentials: %v", got, server.Requests(), searches, err)
	}
}

// TestARefusedPartIsNotSent: the service says no before the bytes come, so that its answer is read and the connection does not break.
func TestARefusedPartIsNotSent(t *testing.T) {
	t.Parallel()
	came := int64(0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Expect") != "100-continue" {
			came, _ = io.Copy(io.Discard, r.Body)
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<Error><Code>AccessDenied</Code><Message>by the test</Message></Error>")
	}))
	defer server.Close()
	at, err := url.Parse("s3://bucket/p?endpoint=" + server.URL)
	require.NoError(t, err)
	s, err := s3.Options{Key: "k", Secret: "s"}.Open(t.Context(), at)
	require.NoError(t, err)
	w, err := write(t.Context(), s, "a", make([]byte, part))
	require.NoError(t, err)
	if err := w.Publish(); bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "it is not allowed (AccessDenied, status 403: by the test)") || came > 0 {
		t.Errorf("after %d bytes: %v", came, err)
	}
}
