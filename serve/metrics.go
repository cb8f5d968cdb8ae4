package serve

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what GET /metrics says, all of one server.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec // by status
	rows     prometheus.Counter
	missing  prometheus.Counter
	seconds  prometheus.Histogram
	inFlight prometheus.Gauge
	reloads  *prometheus.CounterVec // by what came of them
	model    *prometheus.GaugeVec
	opened   prometheus.Gauge
}

// What comes of a reload.
const (
	reloaded = "ok"
	failed   = "failed"
)

func newMetrics() *metrics {
	name := func(n string) string { return "bellows_serve_" + n }
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("requests_total"), Help: "Questions for predictions, by the status of the answer."}, []string{"code"}),
		rows:     prometheus.NewCounter(prometheus.CounterOpts{Name: name("rows_total"), Help: "Rows that were predicted."}),
		missing:  prometheus.NewCounter(prometheus.CounterOpts{Name: name("missing_total"), Help: "Values that were missing in rows that were predicted."}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: name("request_seconds"), Help: "Time of a question from its header to its answer, its body included.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: name("in_flight"), Help: "Questions that are answered now."}),
		reloads:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("reloads_total"), Help: "Times that the model's folder had changed, by what came of it: ok or failed."}, []string{"result"}),
		model:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name("model_info"), Help: "The model that answers. Always 1."}, []string{"app", "model", "digest"}),
		opened:   prometheus.NewGauge(prometheus.GaugeOpts{Name: name("model_opened_timestamp_seconds"), Help: "When the model that answers was opened."}),
	}
	m.registry.MustRegister(m.requests, m.rows, m.missing, m.seconds, m.inFlight, m.reloads, m.model, m.opened) // each has a name of its own
	m.reloads.WithLabelValues(reloaded)
	m.reloads.WithLabelValues(failed)
	return m
}

// answers says which model answers from now on.
func (m *metrics) answers(s *Served, clean func(string) string) {
	m.model.Reset()
	m.model.WithLabelValues(s.of.Model.App, clean(s.name), s.digest).Set(1)
	m.opened.Set(float64(s.at.UnixMilli()) / 1e3)
}

// ended counts a question that has its answer.
func (m *metrics) ended(status, rows int, took time.Duration) {
	m.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	m.rows.Add(float64(rows))
	m.seconds.Observe(took.Seconds())
}
