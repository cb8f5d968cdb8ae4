package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"bellows"
	"bellows/policy/gauge"
)

// Source makes the status of a job.
type Source func(ctx context.Context) (Status, error)

// Measured returns the figures of a job. An error says why it has none, or none yet.
type Measured func(ctx context.Context) (*gauge.Figures, error)

// Limits of what is answered.
const (
	questionsMost = 32               // at once
	answerWithin  = 10 * time.Second // a line of events, or a whole answer, must be taken by then
	headerWithin  = 5 * time.Second
	headerMost    = 16 << 10
)

// NewHandler answers GET /status with a Status, GET /metrics with the same for Prometheus, and GET /figures with the
// figures of the job. GET /events has the events so far, a line each; with ?follow=1 also those to come.
func NewHandler(status Source, measured Measured, events *Feed) http.Handler {
	h := &handler{status, measured, events}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /figures", h.serveFigures)
	mux.HandleFunc("GET /status", h.serveStatus)
	mux.HandleFunc("GET /metrics", h.serveMetrics)
	mux.HandleFunc("GET /events", h.serveEvents)
	return guard(mux)
}

// NewServer returns a server of a handler, with limits on requests.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerWithin, IdleTimeout: time.Minute, MaxHeaderBytes: headerMost,
		ErrorLog: log.New(io.Discard, "", 0)}
}

type handler struct {
	status   Source
	measured Measured
	events   *Feed
}

// guard refuses requests with a foreign host name or origin, which a browser sends for a page of another site, and more than some at once.
func guard(next http.Handler) http.Handler {
	places := make(chan struct{}, questionsMost)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		if !Loopback(r.Host) {
			http.Error(w, "this address answers to localhost alone", http.StatusMisdirectedRequest)
			return
		}
		if !SameOrigin(r) {
			http.Error(w, OtherOrigin, http.StatusForbidden)
			return
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many questions at once", http.StatusServiceUnavailable)
		}
	})
}

// Loopback reports whether a host, with a port or without, is this machine by its loopback device: localhost,
// or an address such as 127.0.0.1 or [::1].
func Loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// OtherOrigin says why a request of another origin is refused.
const OtherOrigin = "requests of pages of another origin are refused"

// SameOrigin reports whether a request has no Origin, as those of programs, or that of the address that it asks. A page of another site cannot read the answers, but its requests
// would take time.
func SameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	return true
}

func (h *handler) serveStatus(w http.ResponseWriter, r *http.Request) {
	if s, ok := h.look(w, r); ok {
		answer(w, s)
	}
}

// answer writes an object as JSON.
func answer(w http.ResponseWriter, object any) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(object); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body.Bytes()) // a client that has gone needs no answer
}

// serveFigures answers 409 if the job has no figures yet, 410 if it will have none, and 503 if it does not answer in
// time.
func (h *handler) serveFigures(w http.ResponseWriter, r *http.Request) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * answerWithin)) // fails only where writing does
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	if h.measured == nil {
		http.Error(w, "it measures nothing", http.StatusGone)
		return
	}
	f, err := h.measured(ctx)
	switch {
	case err == nil:
		answer(w, f)
	case ctx.Err() != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case bellows.KindOf(err) == bellows.Config:
		http.Error(w, err.Error(), http.StatusGone)
	default:
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

// look makes the status, and bounds the time of the answer.
func (h *handler) look(w http.ResponseWriter, r *http.Request) (Status, bool) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * answerWithin)) // fails only where writing does
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	s, err := h.status(ctx)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return s, false
	}
	return s, true
}

func (h *handler) serveEvents(w http.ResponseWriter, r *http.Request) {
	follow := r.URL.Query().Get("follow") == "1"
	w.Header().Set("Content-Type", "application/jsonl")
	answer := http.NewResponseController(w)
	for place := 0; ; {
		lines, next, more, ended := h.events.linesFrom(place)
		place = next
		answer.SetWriteDeadline(time.Now().Add(answerWithin)) // fails only where writing does
		for _, line := range lines {
			w.Write(line) // Flush says what went wrong
			w.Write([]byte{'\n'})
		}
		if answer.Flush() != nil || ended || !follow {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}
