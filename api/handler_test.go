package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/api"
	"bellows/core/tally"
	"bellows/policy/gauge"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

var update = flag.Bool("update", false, "write the golden answers")

// sample returns a status with something in every field.
func sample() api.Status {
	var one, all tally.Tally
	one.Spent = tally.Spent{tally.Compute: 1500 * time.Millisecond, tally.PullWait: time.Second, tally.CommitWait: time.Millisecond}
	one.Sent.Count(tally.Pushes, 1000)
	one.Received.Count(tally.Rows, 500)
	one.Received.Count(tally.Control, 70)
	one.Staleness[0], one.Staleness[2], one.Staleness[15] = 10, 3, 1
	one.Work = tally.Work{Items: 1 << 33, Rows: 77, Serving: 20 * time.Millisecond, Processor: 1750 * time.Millisecond}
	all.Add(&one)
	node := func(id string, roles ...string) api.Node {
		return api.Node{ID: id, Roles: roles, Tier: api.Reliable, State: api.Running, Heard: -1,
			Counters: api.Count(&tally.Tally{}), Sent: api.Traffic(&tally.Traffic{})}
	}
	worker := node("node-1", "worker", "server")
	worker.PID, worker.Slots, worker.Splits, worker.Partitions, worker.Heard = 4712, 2, 8, 3, 0.25
	worker.Counters, worker.Sent = api.Count(&one), api.Traffic(&one.Sent)
	return api.Status{Job: "mf-1", App: "mf", State: api.Running, PID: 4711, Model: "runs/mf-1",
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Elapsed: 3.5, Epoch: 4, Metrics: map[string]float64{"train_rmse": 0.5, "test_rmse": 0.75},
		Progress: api.Progress{Clock: 39, Furthest: 40, Commit: 81, Splits: 8, Seconds: 2.5, Counters: api.Count(&all),
			Nodes: []api.Node{node("node-0", "controller"), worker},
			Moves: []api.Move{{What: "partition 1 of weights", From: "node-0", To: "node-1", Bytes: 4096, Copied: 1024, Seconds: 0.5, Rate: 2048}}},
		Events: []json.RawMessage{json.RawMessage(`{"seq":1,"kind":"started"}`)}}
}

func serve(t *testing.T, source api.Source, feed *api.Feed) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(api.NewHandler(source, nil, feed))
	t.Cleanup(s.Close)
	return s
}

// get asks and returns the answer's code and body.
func get(t *testing.T, s *httptest.Server, path string, change func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	answer, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func fixed(context.Context) (api.Status, error) { return sample(), nil }

// TestGolden wants what tools read byte for byte as it is stored.
func TestGolden(t *testing.T) {
	t.Parallel()
	s := serve(t, fixed, api.NewFeed())
	for path, file := range map[string]string{"/metrics": "testdata/metrics.txt", "/status": "testdata/status.json"} {
		code, got := get(t, s, path, nil)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, code, got)
		}
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s changed:\n%s\nit was\n%s", path, got, want)
		}
	}
}

// TestStatusSurvivesTheWay: a reader has what the writer had.
func TestStatusSurvivesTheWay(t *testing.T) {
	t.Parallel()
	_, body := get(t, serve(t, fixed, api.NewFeed()), "/status", nil)
	var got api.Status
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if want := sample(); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v\nof %+v", got, want)
	}
}

// TestMetricsFollowTheRules of names, units and types that Prometheus has.
func TestMetricsFollowTheRules(t *testing.T) {
	t.Parallel()
	_, body := get(t, serve(t, fixed, api.NewFeed()), "/metrics", nil)
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestUnknownCallersAreRejected(t *testing.T) {
	t.Parallel()
	s := serve(t, fixed, api.NewFeed())
	for host, want := range map[string]int{"localhost": 200, "localhost:80": 200, "127.0.0.1:1": 200, "[::1]": 200, "[::1]:7": 200,
		"127.8.9.1": 200, "evil.example": 421, "evil.example:80": 421, "localhost.evil.example": 421, "10.0.0.1": 421, "": 200} {
		// An empty Host makes the client send that of the address, which is loopback.
		if code, body := get(t, s, "/status", func(r *http.Request) { r.Host = host }); code != want {
			t.Errorf("host %q: %d, not %d: %s", host, code, want, body)
		}
	}
	if code, _ := get(t, s, "/status", func(r *http.Request) { r.Method = http.MethodPost }); code != http.StatusMethodNotAllowed {
		t.Errorf("POST is answered with %d", code)
	}
	if code, _ := get(t, s, "/other", nil); code != http.StatusNotFound {
		t.Errorf("another path is answered with %d", code)
	}
}

func TestAStatusThatCannotBeMade(t *testing.T) {
	t.Parallel()
	s := serve(t, func(context.Context) (api.Status, error) { return api.Status{}, errors.New("the controller is busy") }, api.NewFeed())
	for _, path := range []string{"/status", "/metrics"} {
		if code, body := get(t, s, path, nil); code != http.StatusServiceUnavailable || !strings.Contains(body, "busy") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// TestQuestionsAreBounded sends 40 requests at once; none is answered before the last has arrived.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	const asked, room = 40, 32
	gate := make(chan struct{})
	s := serve(t, func(context.Context) (api.Status, error) { <-gate; return sample(), nil }, api.NewFeed())
	codes := make(chan int, asked)
	for range asked {
		go func() {
			r, err := s.Client().Get(s.URL + "/status")
			if err != nil {
				codes <- 0
				return
			}
			codes <- r.StatusCode
			r.Body.Close()
		}()
	}
	for range asked - room {
		if code := <-codes; code != http.StatusServiceUnavailable {
			t.Errorf("one too many is answered with %d", code)
		}
	}
	close(gate)
	for range room {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("one of %d is answered with %d", room, code)
		}
	}
}

// TestEventsAreFollowed to the end, and read so far without waiting.
func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	feed := api.NewFeed()
	feed.Append([]byte(`{"seq":1}`))
	s := serve(t, fixed, feed)
	if code, body := get(t, s, "/events", nil); code != 200 || body != "{\"seq\":1}\n" {
		t.Errorf("%d %q", code, body)
	}
	answer, err := s.Client().Get(s.URL + "/events?follow=1")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for i := 1; i <= 5; i++ {
		if !lines.Scan() || lines.Text() != fmt.Sprintf(`{"seq":%d}`, i) {
			t.Fatalf("line %d is %q, %v", i, lines.Text(), lines.Err())
		}
		if i < 5 {
			feed.Append(fmt.Appendf(nil, `{"seq":%d}`, i+1))
		}
	}
	feed.Close()
	feed.Close()
	feed.Append([]byte(`{"seq":6}`))
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("after the end came %q, %v", lines.Text(), lines.Err())
	}
}

// TestFeedForgets all but the last events.
func TestFeedForgets(t *testing.T) {
	t.Parallel()
	feed := api.NewFeed()
	const all = 2500
	for i := range all {
		feed.Append(fmt.Append(nil, i))
	}
	feed.Close()
	last := feed.Last(3)
	if len(last) != 3 || string(last[0]) != "2497" || string(last[2]) != "2499" {
		t.Errorf("the last are %s", last)
	}
	if n := len(feed.Last(all)); n > 1000 || n < 900 {
		t.Errorf("%d are kept", n)
	}
	_, body := get(t, serve(t, fixed, feed), "/events?follow=1", nil)
	lines := strings.Fields(body)
	if lines[len(lines)-1] != "2499" || len(lines) != len(feed.Last(all)) {
		t.Errorf("%d lines, the last %s", len(lines), lines[len(lines)-1])
	}
}

// TestFiguresAreServed as JSON; a job without any says why.
func TestFiguresAreServed(t *testing.T) {
	t.Parallel()
	why := errors.New("it takes 7 clocks more")
	measured := func(context.Context) (*gauge.Figures, error) { return &gauge.Figures{Items: 5}, why }
	s := httptest.NewServer(api.NewHandler(fixed, measured, api.NewFeed()))
	defer s.Close()
	if code, body := get(t, s, "/figures", nil); code != http.StatusConflict || body != why.Error()+"\n" {
		t.Errorf("%d, %s", code, body)
	}
	why = bellows.Errorf(bellows.Config, "look", "", "it has one shape")
	if code, _ := get(t, s, "/figures", nil); code != http.StatusGone {
		t.Errorf("a job that will have none: %d", code)
	}
	why = nil
	if code, body := get(t, s, "/figures", nil); code != http.StatusOK || !strings.HasPrefix(body, `{"items":5,`) {
		t.Errorf("%d, %s", code, body)
	}
	if code, _ := get(t, serve(t, fixed, api.NewFeed()), "/figures", nil); code != http.StatusGone {
		t.Errorf("a job that measures nothing: %d", code)
	}
}
