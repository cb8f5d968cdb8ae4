package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A metric of Prometheus: its name, its help and its labels besides the job.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("bellows_"+name, help, append([]string{"job"}, labels...), nil)
}

// The metrics, by what they are of. Values of counters never fall while a job runs.
var (
	descInfo      = describe("job_info", "The job: its application and its run folder. Always 1.", "app", "model")
	descState     = describe("job_state", "1 for the state that the job is in.", "state")
	descElapsed   = describe("job_elapsed_seconds", "Time since the command was called.")
	descTrained   = describe("training_seconds_total", "Time of training alone.")
	descEpoch     = describe("epoch", "The last epoch that was finished.")
	descClock     = describe("clock", "The last clock that every split has completed; -1: none.")
	descFurthest  = describe("furthest_clock", "The last clock that has been dispatched to any split; -1: none.")
	descCommits   = describe("commits_total", "Commits so far.")
	descScore     = describe("score", "The figures of the last epoch.", "metric")
	descNode      = describe("node_state", "1 for the state that a node is in.", "node", "state")
	descSlots     = describe("node_slots", "Compute slots of a node.", "node")
	descSplits    = describe("node_splits", "Splits that are active at a node.", "node")
	descOwned     = describe("node_partitions", "Partitions that a node owns.", "node")
	descHeard     = describe("node_heard_seconds", "Time since a node's counters were made.", "node")
	descSlotTime  = describe("slot_seconds_total", "Time of compute slots by what became of it.", "node", "phase")
	descSentBytes = describe("sent_bytes_total", "Bytes of frames sent to other nodes.", "node", "class")
	descSent      = describe("sent_frames_total", "Frames sent to other nodes.", "node", "class")
	descBytes     = describe("received_bytes_total", "Bytes of frames received from other nodes.", "node", "class")
	descReceived  = describe("received_frames_total", "Frames received from other nodes.", "node", "class")
	descStaleness = describe("read_staleness_clocks", "Reads by the clocks that they missed.", "node")
)

func (h *handler) serveMetrics(w http.ResponseWriter, r *http.Request) {
	s, ok := h.look(w, r)
	if !ok {
		return
	}
	for _, label := range []*string{&s.Job, &s.App, &s.Model} { // which are names of files
		*label = strings.ToValidUTF8(*label, "\ufffd")
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{&s}) // it is the only one
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// collector turns one status into metrics.
type collector struct{ *Status }

func (c collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

func (c collector) gauge(to chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{c.Job}, labels...)...)
}

func (c collector) counter(to chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, append([]string{c.Job}, labels...)...)
}

func (c collector) Collect(to chan<- prometheus.Metric) {
	c.gauge(to, descInfo, 1, c.App, c.Model)
	c.gauge(to, descState, 1, string(c.State))
	c.gauge(to, descElapsed, c.Elapsed)
	c.counter(to, descTrained, c.Seconds)
	c.gauge(to, descEpoch, float64(c.Epoch))
	c.gauge(to, descClock, float64(c.Clock))
	c.gauge(to, descFurthest, float64(c.Furthest))
	c.counter(to, descCommits, float64(c.Commit))
	for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
		c.gauge(to, descScore, c.Metrics[name], name)
	}
	for i := range c.Nodes {
		c.collectNode(&c.Nodes[i], to)
	}
}

func (c collector) collectNode(n *Node, to chan<- prometheus.Metric) {
	c.gauge(to, descNode, 1, n.ID, string(n.State))
	c.gauge(to, descSlots, float64(n.Slots), n.ID)
	c.gauge(to, descSplits, float64(n.Splits), n.ID)
	c.gauge(to, descOwned, float64(n.Partitions), n.ID)
	if n.Heard < 0 {
		return
	}
	c.gauge(to, descHeard, n.Heard, n.ID)
	for phase, v := range n.Phases {
		c.counter(to, descSlotTime, v, n.ID, phase)
	}
	for class, f := range n.Sent {
		c.counter(to, descSentBytes, float64(f.Bytes), n.ID, class)
		c.counter(to, descSent, float64(f.Frames), n.ID, class)
	}
	for class, f := range n.Bytes {
		c.counter(to, descBytes, float64(f.Bytes), n.ID, class)
		c.counter(to, descReceived, float64(f.Frames), n.ID, class)
	}
	count, sum, buckets := histogram(n.Staleness)
	to <- prometheus.MustNewConstHistogram(descStaleness, count, sum, buckets, c.Job, n.ID)
}

// histogram is the reads as Prometheus has them: how many in all, the sum of what they missed, those of the last
// entry with the least that they may have missed, and by each number of clocks how many missed no more.
func histogram(reads []int64) (count uint64, sum float64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(reads))
	for missed, n := range reads {
		count += uint64(n)
		sum += float64(missed) * float64(n)
		if missed < len(reads)-1 {
			buckets[float64(missed)] = count
		}
	}
	return count, sum, buckets
}
