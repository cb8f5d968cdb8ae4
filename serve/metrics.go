package serve

import (
	"strconv"
	"sync"
	"time"

	"bellows/api/metrics"
)

// The metrics of a server, by what they are of.
var (
	descRequests = describe(metrics.Counter, "requests_total", "Questions for predictions, by the status of the answer.", "code")
	descRows     = describe(metrics.Counter, "rows_total", "Rows that were predicted.")
	descMissing  = describe(metrics.Counter, "missing_total", "Values that were missing in rows that were predicted.")
	descSeconds  = describe(metrics.Histogram, "request_seconds", "Time of a question from its header to its answer, its body included.")
	descInFlight = describe(metrics.Gauge, "in_flight", "Questions that are answered now.")
	descReloads  = describe(metrics.Counter, "reloads_total", "Times that the model's folder had changed, by what came of it: ok or failed.", "result")
	descModel    = describe(metrics.Gauge, "model_info", "The model that answers. Always 1.", "app", "model", "digest")
	descOpened   = describe(metrics.Gauge, "model_opened_timestamp_seconds", "When the model that answers was opened.")
)

// describe describes a metric of a server by its kind, name, help and labels.
func describe(kind metrics.Kind, name, help string, labels ...string) *metrics.Desc {
	return &metrics.Desc{Kind: kind, Name: "bellows_serve_" + name, Help: help, Labels: labels}
}

// durations are the upper ends of the buckets of request_seconds.
var durations = [...]float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}

// counts are what a server has counted for GET /metrics.
type counts struct {
	mu       sync.Mutex
	requests map[int]int // by status
	rows     int
	missing  int64
	within   [len(durations)]uint64 // questions of each bucket, those of the buckets below apart
	ended    uint64                 // questions
	seconds  float64                // of all questions
	inFlight int
	reloads  map[string]int // by result
	model    []string       // the labels of the model that answers
	opened   float64
}

// The outcomes of a reload.
const (
	reloaded = "ok"
	failed   = "failed"
)

func newCounts() *counts {
	return &counts{requests: map[int]int{}, reloads: map[string]int{reloaded: 0, failed: 0}}
}

// change changes the counts while nothing else reads or changes them.
func (c *counts) change(by func(c *counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by(c)
}

// answers says which model answers from now on.
func (c *counts) answers(s *Served, clean func(string) string) {
	c.change(func(c *counts) {
		c.model = []string{s.of.Model.App, clean(s.name), s.digest}
		c.opened = float64(s.at.UnixMilli()) / 1e3
	})
}

// end counts a question that has its answer.
func (c *counts) end(status, rows int, took time.Duration) {
	c.change(func(c *counts) {
		c.requests[status]++
		c.rows += rows
		c.ended++
		c.seconds += took.Seconds()
		for i, most := range durations {
			if took.Seconds() <= most {
				c.within[i]++
				break
			}
		}
	})
}

// page returns the counts as metrics.
func (c *counts) page() *metrics.Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &metrics.Page{}
	for status, n := range c.requests {
		p.Set(descRequests, float64(n), strconv.Itoa(status))
	}
	p.Set(descRows, float64(c.rows))
	p.Set(descMissing, float64(c.missing))
	below, buckets := uint64(0), make([]metrics.Bucket, len(durations))
	for i, most := range durations {
		below += c.within[i]
		buckets[i] = metrics.Bucket{Most: most, Count: below}
	}
	p.SetHistogram(descSeconds, c.ended, c.seconds, buckets)
	p.Set(descInFlight, float64(c.inFlight))
	for result, n := range c.reloads {
		p.Set(descReloads, float64(n), result)
	}
	if c.model != nil {
		p.Set(descModel, 1, c.model...)
	}
	p.Set(descOpened, c.opened)
	return p
}
