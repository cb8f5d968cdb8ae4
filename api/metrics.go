package api

import (
	"net/http"
	"strings"

	"bellows/api/metrics"
)

// describe describes a metric of a job by its kind, name, help and labels besides the job.
func describe(kind metrics.Kind, name, help string, labels ...string) *metrics.Desc {
	return &metrics.Desc{Kind: kind, Name: "bellows_" + name, Help: help, Labels: append([]string{"job"}, labels...)}
}

// The metrics, by what they are of. Values of counters never fall while a job runs.
var (
	descInfo      = describe(metrics.Gauge, "job_info", "The job: its application and its run folder. Always 1.", "app", "model")
	descState     = describe(metrics.Gauge, "job_state", "1 for the state that the job is in.", "state")
	descElapsed   = describe(metrics.Gauge, "job_elapsed_seconds", "Time since the command was called.")
	descTrained   = describe(metrics.Counter, "training_seconds_total", "Time of training alone.")
	descEpoch     = describe(metrics.Gauge, "epoch", "The last epoch that was finished.")
	descClock     = describe(metrics.Gauge, "clock", "The last clock that every split has completed; -1: none.")
	descFurthest  = describe(metrics.Gauge, "furthest_clock", "The last clock that has been dispatched to any split; -1: none.")
	descCommits   = describe(metrics.Counter, "commits_total", "Commits so far.")
	descScore     = describe(metrics.Gauge, "score", "The figures of the last epoch.", "metric")
	descNode      = describe(metrics.Gauge, "node_state", "1 for the state that a node is in.", "node", "state")
	descSlots     = describe(metrics.Gauge, "node_slots", "Compute slots of a node.", "node")
	descSplits    = describe(metrics.Gauge, "node_splits", "Splits that are active at a node.", "node")
	descOwned     = describe(metrics.Gauge, "node_partitions", "Partitions that a node owns.", "node")
	descHeard     = describe(metrics.Gauge, "node_heard_seconds", "Time since a node's counters were made.", "node")
	descSlotTime  = describe(metrics.Counter, "slot_seconds_total", "Time of compute slots by what became of it.", "node", "phase")
	descSentBytes = describe(metrics.Counter, "sent_bytes_total", "Bytes of frames sent to other nodes.", "node", "class")
	descSent      = describe(metrics.Counter, "sent_frames_total", "Frames sent to other nodes.", "node", "class")
	descBytes     = describe(metrics.Counter, "received_bytes_total", "Bytes of frames received from other nodes.", "node", "class")
	descReceived  = describe(metrics.Counter, "received_frames_total", "Frames received from other nodes.", "node", "class")
	descItems     = describe(metrics.Counter, "items_total", "Items that tasks have visited, whether or not they count.", "node")
	descRows      = describe(metrics.Counter, "rows_written_total", "Row deltas, and rows of copies at the end of leases, that servers have written.", "node")
	descServing   = describe(metrics.Counter, "serving_seconds_total", "Wall time in which servers handled messages.", "node")
	descProcessor = describe(metrics.Counter, "processor_seconds_total", "Processor time of a node's process.", "node")
	descStaleness = describe(metrics.Histogram, "read_staleness_clocks", "Reads by the clocks that they missed.", "node")
)

func (h *handler) serveMetrics(w http.ResponseWriter, r *http.Request) {
	s, ok := h.look(w, r)
	if !ok {
		return
	}
	for _, label := range []*string{&s.Job, &s.App, &s.Model} { // which are names of files
		*label = strings.ToValidUTF8(*label, "\ufffd")
	}
	c := collector{Status: &s}
	c.collect()
	c.page.Serve(w, r)
}

// collector turns one status into metrics.
type collector struct {
	*Status
	page metrics.Page
}

func (c *collector) set(d *metrics.Desc, v float64, labels ...string) {
	c.page.Set(d, v, append([]string{c.Job}, labels...)...)
}

func (c *collector) collect() {
	c.set(descInfo, 1, c.App, c.Model)
	c.set(descState, 1, string(c.State))
	c.set(descElapsed, c.Elapsed)
	c.set(descTrained, c.Seconds)
	c.set(descEpoch, float64(c.Epoch))
	c.set(descClock, float64(c.Clock))
	c.set(descFurthest, float64(c.Furthest))
	c.set(descCommits, float64(c.Commit))
	for name, v := range c.Metrics {
		c.set(descScore, v, name)
	}
	for i := range c.Nodes {
		c.collectNode(&c.Nodes[i])
	}
}

func (c *collector) collectNode(n *Node) {
	c.set(descNode, 1, n.ID, string(n.State))
	c.set(descSlots, float64(n.Slots), n.ID)
	c.set(descSplits, float64(n.Splits), n.ID)
	c.set(descOwned, float64(n.Partitions), n.ID)
	if n.Heard < 0 {
		return
	}
	c.set(descHeard, n.Heard, n.ID)
	for phase, v := range n.Phases {
		c.set(descSlotTime, v, n.ID, phase)
	}
	for class, f := range n.Sent {
		c.set(descSentBytes, float64(f.Bytes), n.ID, class)
		c.set(descSent, float64(f.Frames), n.ID, class)
	}
	for class, f := range n.Bytes {
		c.set(descBytes, float64(f.Bytes), n.ID, class)
		c.set(descReceived, float64(f.Frames), n.ID, class)
	}
	c.set(descItems, float64(n.Items), n.ID)
	c.set(descRows, float64(n.Rows), n.ID)
	c.set(descServing, n.Serving, n.ID)
	c.set(descProcessor, n.Processor, n.ID)
	count, sum, buckets := histogram(n.Staleness)
	c.page.SetHistogram(descStaleness, count, sum, buckets, c.Job, n.ID)
}

// histogram returns the reads as Prometheus has them: how many in all, the sum of what they missed, those of the last
// entry with the least that they may have missed, and by each number of clocks how many missed no more.
func histogram(reads []int64) (count uint64, sum float64, buckets []metrics.Bucket) {
	for missed, n := range reads {
		count += uint64(n)
		sum += float64(missed) * float64(n)
		if missed < len(reads)-1 {
			buckets = append(buckets, metrics.Bucket{Most: float64(missed), Count: count})
		}
	}
	return count, sum, buckets
}
