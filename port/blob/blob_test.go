package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"bellows"
	"bellows/port/blob"
	"bellows/port/blob/mem"
)

func TestSchemesOpenByURI(t *testing.T) {
	t.Parallel()
	known := blob.Schemes{"mem": mem.Open, "broken": func(context.Context, *url.URL) (blob.Store, error) { return nil, fs.ErrPermission }}
	s, err := known.Open(t.Context(), "mem://a/b")
	if err != nil || s.URI("") != "mem://a/b" {
		t.Fatal(s, err)
	}
	if _, err := known.Open(t.Context(), "broken://a"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("what the store says is lost: %v", err)
	}
	for _, scheme := range []string{"g", "f", "e", "d"} {
		known[scheme] = mem.Open
	}
	for uri, why := range map[string]string{"s3://a": "known are broken://, d://, e://, f://, g://, mem://", "/a": "known are", "%zz": "no URI", "": "known are"} {
		_, err := known.Open(t.Context(), uri)
		if err == nil || bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

func TestErrorsHidePasswords(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{"s3://me:a/b@c/d@bucket/x": "s3://…@bucket/x", "s3://bucket/x": "s3://bucket/x", "s3://@bucket": "s3://…@bucket", "/a@b": "/a@b", "": ""} {
		if got := blob.Shown(uri); got != want {
			t.Errorf("%q is shown as %q", uri, got)
		}
	}
	for _, uri := range []string{"no://me:secret@a", "s3://me:sec/ret@%zz"} {
		if _, err := (blob.Schemes{}).Open(t.Context(), uri); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("a password is told: %v", err)
		}
	}
}

func TestFaultsGoByTheirCauses(t *testing.T) {
	t.Parallel()
	for cause, kind := range map[error]bellows.Kind{
		fs.ErrNotExist: bellows.NoInput, fs.ErrExist: bellows.Refused, fs.ErrPermission: bellows.Refused, blob.ErrFull: bellows.CannotWrite,
		blob.ErrReplaced: bellows.IO, blob.ErrDamaged: bellows.BadData, context.Canceled: bellows.Interrupted, blob.ErrClosed: bellows.Bug, errors.New("another"): bellows.IO,
	} {
		err := blob.Fault("read", "mem://a/b", fmt.Errorf("below: %w", cause))
		if bellows.KindOf(err) != kind || !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "read mem://a/b: ") {
			t.Errorf("%v is %v, of kind %d", cause, err, bellows.KindOf(err))
		}
	}
	if err := blob.Fault("read", "mem://a", nil); err != nil {
		t.Errorf("nothing is %v", err)
	}
}

func TestNamesThatAllStoresCanHave(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("x", 200)
	full := strings.Repeat(part[:191]+"/", 4)
	for name, right := range map[string]bool{
		"a": true, "a/b-c.d_e=0/_": true, part: true, full[:767] + "x": true,
		"": false, "/a": false, "a/": false, "a//b": false, "A": false, ".a": false, "a/-b": false, "..": false, "ä": false, part + "x": false, full[:767] + "xx": false, "a\n": false,
	} {
		if err := blob.CheckName(name); (err == nil) != right || !right && bellows.KindOf(err) != bellows.Bug {
			t.Errorf("%q of %d bytes: %v", name, len(name), err)
		}
	}
}
