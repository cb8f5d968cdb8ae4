// Package metrics writes counters and gauges in the text format of Prometheus, version 0.0.4.
//
// A caller's duties, in order:
//
//  1. Describe each metric once, by a Desc.
//  2. For each request make a Page, and Set the values that the metrics have now.
//  3. Serve the page.
//
// It keeps no values between requests. Values of a counter must not fall, and labels must be valid UTF-8; the package does not check them.
package metrics

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of a metric.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Desc describes a metric.
type Desc struct {
	Kind       Kind
	Name, Help string
	Labels     []string // their names
}

// Bucket is one of a histogram: how many values are at most Most, those of the buckets below included.
type Bucket struct {
	Most  float64
	Count uint64
}

// Page has the values of metrics at one moment. The zero value is an empty page.
type Page struct {
	families []*family
}

// family is what a page has of one metric.
type family struct {
	*Desc
	samples []sample
}

// sample is a value, or the sum of a histogram, under the values of its labels.
type sample struct {
	labels  []string
	value   float64
	count   uint64
	buckets []Bucket
}

// Set enters the value of a counter or gauge, under the values of its labels.
func (p *Page) Set(d *Desc, value float64, labels ...string) {
	p.add(d, sample{labels: labels, value: value})
}

// SetHistogram enters a histogram: how many values there are, their sum, and the buckets in rising order, without the one of all values.
func (p *Page) SetHistogram(d *Desc, count uint64, sum float64, buckets []Bucket, labels ...string) {
	p.add(d, sample{labels: labels, value: sum, count: count, buckets: buckets})
}

func (p *Page) add(d *Desc, s sample) {
	if len(s.labels) != len(d.Labels) {
		panic(fmt.Sprintf("metrics: %s has %d labels, and %d values are given", d.Name, len(d.Labels), len(s.labels)))
	}
	at := slices.IndexFunc(p.families, func(f *family) bool { return f.Desc == d })
	if at < 0 {
		at = len(p.families)
		p.families = append(p.families, &family{Desc: d})
	}
	p.families[at].samples = append(p.families[at].samples, s)
}

// WriteTo writes the page, sorted by names and labels.
func (p *Page) WriteTo(to io.Writer) (int64, error) {
	families := slices.SortedFunc(slices.Values(p.families), func(a, b *family) int { return strings.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	for _, f := range families {
		f.write(&b)
	}
	return b.WriteTo(to)
}

func (f *family) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", f.Name, helpEscapes.Replace(f.Help), f.Kind)
	order := make([]int, len(f.Labels)) // of labels, by their names
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return strings.Compare(f.Labels[x], f.Labels[y]) })
	samples := slices.Clone(f.samples)
	slices.SortStableFunc(samples, func(x, y sample) int {
		for _, i := range order {
			if c := strings.Compare(x.labels[i], y.labels[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	for _, s := range samples {
		var labels []string
		for _, i := range order {
			labels = append(labels, f.Labels[i]+`="`+labelEscapes.Replace(s.labels[i])+`"`)
		}
		if f.Kind != Histogram {
			line(b, f.Name, labels, number(s.value))
			continue
		}
		for _, bucket := range append(slices.Clip(s.buckets), Bucket{math.Inf(1), s.count}) {
			line(b, f.Name+"_bucket", append(slices.Clip(labels), `le="`+number(bucket.Most)+`"`), number(float64(bucket.Count)))
		}
		line(b, f.Name+"_sum", labels, number(s.value))
		line(b, f.Name+"_count", labels, number(float64(s.count)))
	}
}

func line(b *bytes.Buffer, name string, labels []string, value string) {
	b.WriteString(name)
	if len(labels) > 0 {
		b.WriteString("{" + strings.Join(labels, ",") + "}")
	}
	b.WriteString(" " + value + "\n")
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// number formats a value, which may be NaN or infinite.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Serve answers a request with the page, compressed by gzip if the client accepts that.
func (p *Page) Serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r) {
		_, _ = p.WriteTo(w) // an error is that of a client that has gone
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	compressed := gzip.NewWriter(w)
	_, _ = p.WriteTo(compressed)
	_ = compressed.Close()
}

func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if strings.EqualFold(name, "gzip") && strings.Trim(quality, "q=0.") != "" || strings.EqualFold(name, "gzip") && quality == "" {
			return true
		}
	}
	return false
}
