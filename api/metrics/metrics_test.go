package metrics_test

import (
	"compress/gzip"
	"io"
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"bellows/api/metrics"
)

var (
	size  = &metrics.Desc{Kind: metrics.Gauge, Name: "size", Help: "Of a \\ and\nof \"b\".", Labels: []string{"z", "a"}}
	waits = &metrics.Desc{Kind: metrics.Histogram, Name: "waits", Help: "Seconds.", Labels: []string{"node"}}
	alone = &metrics.Desc{Kind: metrics.Counter, Name: "alone_total", Help: "One."}
)

// sample returns a page with every kind of metric, entered in another order than the written one.
func sample() *metrics.Page {
	p := &metrics.Page{}
	p.SetHistogram(waits, 2_000_000, 1.5, []metrics.Bucket{{Most: 0.0005, Count: 3}, {Most: 10, Count: 4}}, "node-1")
	p.Set(size, math.NaN(), "1", "b")
	p.Set(size, math.Inf(-1), "2", "a")
	p.Set(size, 1e6, "1", "a \\ \"\n")
	p.Set(alone, 0.25)
	return p
}

// written is what the client library of Prometheus 1.25 writes of the sample.
const written = `# HELP alone_total One.
# TYPE alone_total counter
alone_total 0.25
# HELP size Of a \\ and\nof "b".
# TYPE size gauge
size{a="a",z="2"} -Inf
size{a="a \\ \"\n",z="1"} 1e+06
size{a="b",z="1"} NaN
# HELP waits Seconds.
# TYPE waits histogram
waits_bucket{node="node-1",le="0.0005"} 3
waits_bucket{node="node-1",le="10"} 4
waits_bucket{node="node-1",le="+Inf"} 2e+06
waits_sum{node="node-1"} 1.5
waits_count{node="node-1"} 2e+06
`

func TestPageIsWrittenInOrder(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if n, err := sample().WriteTo(&b); err != nil || b.String() != written || n != int64(len(written)) {
		t.Errorf("%d bytes, %v:\n%s", n, err, b.String())
	}
}

// TestServeCompresses checks the page for clients that accept gzip and for others.
func TestServeCompresses(t *testing.T) {
	t.Parallel()
	for accepted, compressed := range map[string]bool{
		"": false, "gzip": true, "deflate, GZIP;q=0.5": true, "zstd;q=1.0, gzip; q=1": true, "gzip;q=0": false, "gzip;q=0.0": false, "identity": false,
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept-Encoding", accepted)
		w := httptest.NewRecorder()
		sample().Serve(w, r)
		var body io.Reader = w.Body
		if w.Header().Get("Content-Encoding") == "gzip" {
			plain, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = plain
		}
		text, err := io.ReadAll(body)
		if err != nil || string(text) != written || (w.Header().Get("Content-Encoding") == "gzip") != compressed {
			t.Errorf("%q: %v, %v", accepted, w.Header(), err)
		}
		if kind := w.Header().Get("Content-Type"); kind != "text/plain; version=0.0.4; charset=utf-8" {
			t.Errorf("the type is %s", kind)
		}
	}
}

func TestMissingLabelPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if v := recover(); v != "metrics: size has 2 labels, and 1 values are given" {
			t.Errorf("%v", v)
		}
	}()
	new(metrics.Page).Set(size, 1, "one")
}
