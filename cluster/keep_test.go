package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"bellows/link/secure"
)

// tripper answers questions in the place of a connection.
type tripper func(*http.Request) (int, any)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	code, v := f(r)
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(text)), Request: r}, nil
}

// TestACertificateIsKept: it is renewed when it is due, a minute later where that fails, and again when the new one is due; nothing is asked between.
func TestACertificateIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		issues, err := secure.NewAuthority("a test")
		if err != nil {
			t.Fatal(err)
		}
		i, err := issues.Member(secure.Name{Role: secure.Agent, ID: "node-1"})
		if err != nil {
			t.Fatal(err)
		}
		c := NewMember("here:1", i)
		began, asked := time.Now(), []time.Duration{}
		c.http = &http.Client{Transport: tripper(func(r *http.Request) (int, any) {
			asked = append(asked, time.Since(began))
			var q Request
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/certificates" || r.Header.Get("Authorization") != "" {
				t.Errorf("asked for %s: %v", r.URL.Path, err)
			}
			if len(asked) == 1 {
				return http.StatusConflict, fault{Code: 69, Why: "not now"}
			}
			certificate, err := issues.Issue(q.Key, i.Name())
			if err != nil {
				t.Error(err)
			}
			return http.StatusOK, Certificate{certificate, issues.Certificate()}
		})}
		ctx, end := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { c.Keep(ctx); close(over) }()
		<-time.After(40 * time.Hour)
		end()
		<-over
		// A certificate has its time in whole seconds.
		want := []time.Duration{16 * time.Hour, 16*time.Hour + time.Minute, 32*time.Hour + time.Minute}
		if len(asked) != len(want) {
			t.Fatalf("asked after %v", asked)
		}
		for n := range want {
			if late := asked[n] - want[n]; late < -time.Second || late > time.Second {
				t.Errorf("asked after %v, want %v", asked, want)
			}
		}
	})
}
