package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/api"
)

// An Event is something that the operator of a server may want to know.
type Event struct {
	Kind     string `json:"kind"` // serving, reloaded, reload-failed, stopped
	Sentence string `json:"sentence"`
	Model    string `json:"model"`
	Address  string `json:"address,omitempty"` // serving
	Digest   string `json:"digest,omitempty"`  // of the model that answers from now on
	Requests int64  `json:"requests"`          // so far
	Rows     int64  `json:"rows"`
	Reloads  int64  `json:"reloads"`
}

// A Server answers for one model at a time.
//
// Its states: serving; then draining, after the context of Serve has ended: it takes no more connections, GET /health
// reports it, and requests in progress are answered. A request is answered by the model that was current when the
// request was complete, even if another replaces it meanwhile.
//
// Invariants: the current model was opened and found complete; a folder that cannot be opened never changes that
// (TestABadModelChangesNothing). A request has a place from its header on, of which there are Limits.Requests.
//
// Lock: telling, while an event is reported.
//
// Rejected: a queue of requests that are answered together, which makes each wait for the others: the rows of one
// request are a batch already. And file watching by the system, which does not report folders on other machines.
type Server struct {
	name   string
	limits Limits
	open   func() (*Opened, error)
	tell   func(Event)
	now    func() time.Time
	// only this machine sends requests, so a request with another host name comes from another site's page in a browser
	near  bool
	first string // stamp of the folder before the model was opened for the first time

	telling  sync.Mutex
	served   atomic.Pointer[Served]
	draining atomic.Bool
	places   chan struct{}
	looks    chan struct{}
	metrics  *counts
	requests atomic.Int64
	rows     atomic.Int64
	reloads  atomic.Int64
}

// New opens the model by its name, with open, which finds it whole or says what is wrong with it. near says that the address is of this machine alone.
// tell hears of events, one after the other.
func New(name string, limits Limits, near bool, open func() (*Opened, error), tell func(Event)) (*Server, error) {
	s := &Server{name: name, limits: limits, open: open, tell: tell, now: time.Now, near: near, first: stamp(name),
		places: make(chan struct{}, limits.Requests), looks: make(chan struct{}, 1), metrics: newCounts()}
	found, err := open()
	if err != nil {
		return nil, err
	}
	served, err := newServed(name, found, limits.Rows, s.now())
	if err != nil {
		return nil, err
	}
	s.swap(served)
	return s, nil
}

func (s *Server) swap(next *Served) {
	s.served.Store(next)
	s.metrics.answers(next, func(text string) string { return strings.ToValidUTF8(text, "\ufffd") })
}

// Reload makes the server check the model's folder soon, whether it has changed or not. It is safe for concurrent use.
func (s *Server) Reload() {
	select {
	case s.looks <- struct{}{}:
	default: // it will be
	}
}

// Serve answers at a listener until the context ends, and then finishes requests in progress, for at most Limits.Drain.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: min(5*time.Second, s.limits.Timeout), ReadTimeout: 2 * s.limits.Timeout, WriteTimeout: 4 * s.limits.Timeout,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0)}
	var looking sync.WaitGroup
	looked, end := context.WithCancel(ctx)
	defer looking.Wait()
	defer end()
	looking.Go(func() { s.look(looked) })
	failed := make(chan error, 1)
	looking.Go(func() { failed <- h.Serve(bounded(l, s.limits.Connections)) })
	s.event("serving", l.Addr().String(), fmt.Sprintf("%s answers at %s", s.name, Address(l)))
	select {
	case err := <-failed:
		return bellows.Errorf(bellows.IO, "serve", l.Addr().String(), "%w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	drain, stop := context.WithTimeout(context.WithoutCancel(ctx), s.limits.Drain)
	defer stop()
	err := h.Shutdown(drain)
	said := "all questions were answered"
	if err != nil {
		h.Close()
		said = fmt.Sprintf("questions that took longer than %v were given up", s.limits.Drain)
	}
	s.event("stopped", "", fmt.Sprintf("%s answers no more: %s", s.name, said))
	return nil
}

func (s *Server) event(kind, address, sentence string) {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.tell(Event{Kind: kind, Sentence: sentence, Model: s.name, Address: address, Digest: s.served.Load().digest,
		Requests: s.requests.Load(), Rows: s.rows.Load(), Reloads: s.reloads.Load()})
}

// look looks at the model's folder now and then, and when Reload asks.
func (s *Server) look(ctx context.Context) {
	var ticks <-chan time.Time
	if s.limits.Look > 0 {
		ticker := time.NewTicker(s.limits.Look)
		defer ticker.Stop()
		ticks = ticker.C
	}
	taken, before := s.first, s.first
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-s.looks:
			asked = true
		case <-ticks:
		}
		is := stamp(s.name)
		if !asked && (is == taken || is != before) { // unchanged, or still being written
			before = is
			continue
		}
		before, taken = is, is
		s.reload(asked)
	}
}

// reload opens the model again and lets it answer if it is whole, and of the same application.
func (s *Server) reload(asked bool) {
	was := s.served.Load()
	next, err := s.open()
	if err == nil && next.Model.App != was.of.Model.App {
		err = bellows.Errorf(bellows.BadData, "open model", s.name, "it is now a model of %s, and this server is for %s; start another server for it", next.Model.App, was.of.Model.App)
	}
	var served *Served
	if err == nil {
		served, err = newServed(s.name, next, s.limits.Rows, s.now())
	}
	switch {
	case err != nil:
		s.metrics.change(func(c *counts) { c.reloads[failed]++ })
		s.event("reload-failed", "", fmt.Sprintf("the model from before answers on: %v", err))
	case served.digest == was.digest && !asked:
	default:
		s.swap(served)
		s.reloads.Add(1)
		s.metrics.change(func(c *counts) { c.reloads[reloaded]++ })
		s.event("reloaded", "", fmt.Sprintf("%s answers with what is in its folder now, %s", s.name, served.digest))
	}
}

// Handler returns what the server answers: POST /predict, GET /model, GET /health, GET /metrics. All errors are JSON.
func (s *Server) Handler() http.Handler {
	post := func(serve http.HandlerFunc) route { return route{serve, []string{http.MethodPost}} }
	get := func(serve http.HandlerFunc) route {
		return route{serve, []string{http.MethodGet, http.MethodHead}}
	}
	routes := map[string]route{
		"/predict": post(s.predict), "/model": get(s.model), "/health": get(s.health),
		"/metrics": get(func(w http.ResponseWriter, r *http.Request) { s.metrics.page().Serve(w, r) }),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if s.near && !api.Loopback(r.Host) {
			problem(w, refuse(http.StatusMisdirectedRequest, "this address answers only to localhost"))
			return
		}
		if !api.SameOrigin(r) {
			problem(w, refuse(http.StatusForbidden, "%s", api.OtherOrigin))
			return
		}
		to, known := routes[r.URL.Path]
		switch {
		case !known:
			problem(w, refuse(http.StatusNotFound, "no such path: %.100q; ask POST /predict, GET /model, GET /health or GET /metrics", r.URL.Path))
		case !slices.Contains(to.methods, r.Method):
			w.Header().Set("Allow", strings.Join(to.methods, ", "))
			problem(w, refuse(http.StatusMethodNotAllowed, "%s takes %s, not %.20q", r.URL.Path, strings.Join(to.methods, " or "), r.Method))
		default:
			to.serve(w, r)
		}
	})
}

// route is the handler of a path and its methods.
type route struct {
	serve   http.HandlerFunc
	methods []string
}

// predict answers one question.
func (s *Server) predict(w http.ResponseWriter, r *http.Request) {
	began, status, rows := s.now(), http.StatusOK, 0
	s.requests.Add(1)
	defer func() { s.metrics.end(status, rows, s.now().Sub(began)) }()
	select {
	case s.places <- struct{}{}:
		s.metrics.change(func(c *counts) { c.inFlight++ })
		defer func() {
			s.metrics.change(func(c *counts) { c.inFlight-- })
			<-s.places
		}()
	default:
		w.Header().Set("Retry-After", "1")
		status = problem(w, refuse(http.StatusTooManyRequests, "%d requests are being answered, which is the limit; send the request again", s.limits.Requests))
		return
	}
	out, err := s.ask(w, r)
	if err != nil {
		status = problem(w, err)
		return
	}
	rows = out.rows
	s.rows.Add(int64(rows))
	out.send(w)
}

// ask reads a request and answers it. A failure of an application is an error of this request, and ends nothing else.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) (out *answered, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, bellows.Errorf(bellows.Bug, "predict", s.name, "%v", v)
		}
	}()
	body, err := s.body(w, r)
	if err != nil {
		return nil, err
	}
	served := s.served.Load()
	q, err := ask(r, body, s.limits, served.arrays())
	if err != nil {
		return nil, err
	}
	out, err = served.answer(q, s.limits.Rows)
	if err == nil {
		s.metrics.change(func(c *counts) { c.missing += out.missing })
	}
	return out, err
}

// body reads what was sent, as much as is allowed and as long as is allowed.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, refuse(http.StatusUnsupportedMediaType, "bodies packed by %s are not read; send it as it is", coding)
	}
	tooLarge := func() error {
		return refuse(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes; send the rows in parts", s.limits.Body)
	}
	if r.ContentLength > s.limits.Body {
		return nil, tooLarge()
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(s.now().Add(s.limits.Timeout)) // fails only where reading does
	body := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), roomMost)+bytes.MinRead))
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, s.limits.Body))
	var most *http.MaxBytesError
	var slow net.Error
	switch {
	case errors.As(err, &most):
		return nil, tooLarge()
	case errors.As(err, &slow) && slow.Timeout():
		return nil, refuse(http.StatusRequestTimeout, "the body did not come within %v", s.limits.Timeout)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "the body ended early: %v", err)
	}
	control.SetWriteDeadline(s.now().Add(2 * s.limits.Timeout)) // for the same reason
	return body.Bytes(), nil
}

// roomMost bounds the memory that a request gets for a body before it has sent it.
const roomMost = 256 << 10

func (s *Server) model(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, s.served.Load().about(s.limits))
}

// health says whether questions should come here.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() {
		w.Header().Set("Retry-After", "1")
		write(w, http.StatusServiceUnavailable, map[string]string{"status": "draining"})
		return
	}
	write(w, http.StatusOK, map[string]string{"status": "ok"})
}

// problemAnswer is the body of every error.
type problemAnswer struct {
	Error struct {
		Status  int    `json:"status"`
		Row     int    `json:"row,omitempty"` // from 1
		Message string `json:"message"`
	} `json:"error"`
}

// problem sends why there is no answer, and returns the status.
func problem(w http.ResponseWriter, err error) int {
	status, row := http.StatusInternalServerError, 0
	var known *refusal
	if errors.As(err, &known) {
		status, row = known.status, known.row
	}
	var out problemAnswer
	out.Error.Status, out.Error.Row, out.Error.Message = status, row, strings.ToValidUTF8(err.Error(), "\ufffd")
	write(w, status, out)
	return status
}

func write(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // numbers that JSON does not have, in metrics of a model
		problem(w, bellows.Errorf(bellows.Bug, "answer", "", "%w", err))
		return
	}
	w.Header().Set("Content-Type", jsonForm)
	w.WriteHeader(status)
	w.Write(append(text, '\n')) // a client that has gone needs no answer
}
