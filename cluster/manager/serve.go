package manager

import (
	"cmp"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"bellows"
	"bellows/api"
	"bellows/cluster"
	"bellows/cluster/internal/admission"
	"bellows/link/secure"
)

// Limits of questions. Those of connections, handshakes and headers hold before the caller is known.
const (
	connectionsMost = 512 // of unknown callers; with one more the oldest is closed
	bodyMost        = 1 << 20
	takeWithin      = 10 * time.Second // a body, or an answer
)

// Known callers have places by what they do, so that no kind takes the places of another one. An agent and a leading process keep theirs until their session ends.
const (
	questionsMost = 128            // of users, which may take as long as a change of the cluster
	endingsMost   = 16             // of users, to end a job or the cluster
	followersMost = jobsMost       // of the output of jobs; with one more the oldest has to connect again later
	agentsMost    = nodesMost + 64 // those of nodes, and others that renew a certificate or are refused
	leadersMost   = 16             // the job that runs has one, and perhaps its predecessor
)

// AgentCommand is the hidden command that is an agent.
const AgentCommand = "cluster-agent"

// server is the API.
type server struct {
	http    *http.Server
	serving sync.WaitGroup
}

// listener gives each connection a place until its caller is known. When all places are taken, the oldest connection is closed, so that idle connections do not block new ones.
type listener struct {
	net.Listener
	strangers *admission.Places
}

// placedConn is a connection with such a place, which it keeps until it is closed or identified.
type placedConn struct {
	net.Conn
	leave func()
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &placedConn{c, l.strangers.TakeOver(func() { c.Close() })}, nil
}

func (g *placedConn) Close() error {
	g.leave()
	return g.Conn.Close()
}

func (m *manager) serve(l net.Listener) *server {
	m.followers = admission.NewPlaces(followersMost)
	s := &server{http: api.NewServer(m.guard(routes(m.handlers())))}
	s.http.SetKeepAlivesEnabled(false) // a caller is known for one question
	s.http.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connection{}, c) }
	l = tls.NewListener(&listener{l, admission.NewPlaces(connectionsMost)}, m.self.Server())
	s.serving.Go(func() { s.http.Serve(l) }) // it ends with the listener
	return s
}

// handlers returns what the calls of cluster.Calls do here.
func (m *manager) handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /v1/cluster": func(w http.ResponseWriter, r *http.Request) { reply(w, m.status(), nil) },
		"POST /v1/jobs": func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, func(_ context.Context, s cluster.Submission) (cluster.Job, error) { return m.submit(s) })
		},
		callInterrupt:    m.serveInterrupt,
		callFollow:       m.serveOutput,
		"POST /v1/scale": func(w http.ResponseWriter, r *http.Request) { answer(w, r, m.resize) },
		"POST /v1/drain": func(w http.ResponseWriter, r *http.Request) { answer(w, r, m.leave) },
		callDown:         func(w http.ResponseWriter, r *http.Request) { reply(w, m.shutDown(orderlyWithin), nil) },
		"POST /v1/certificates": func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, func(_ context.Context, q cluster.Request) (cluster.Certificate, error) {
				return m.certify(callerOf(r), q)
			})
		},
		"POST /v1/agents": func(w http.ResponseWriter, r *http.Request) {
			m.session(w, func(s *cluster.Session, h *cluster.Hello) error { return m.welcome(s, callerOf(r), h) })
		},
		"POST /v1/jobs/{job}/lead": m.serveLead,
	}
}

// Calls that have their own places.
const (
	callFollow    = "GET /v1/jobs/{job}/output"
	callInterrupt = "POST /v1/jobs/{job}/interrupt"
	callDown      = "POST /v1/down"
)

// rooms are the places of known callers.
type rooms struct{ questions, endings, agents, leaders *admission.Places }

// lookup returns the places for a call, and a noun for its callers. nil: the call has places of another kind.
func (r *rooms) lookup(role secure.Role, pattern string) (p *admission.Places, what string) {
	switch {
	case pattern == callFollow:
		return nil, ""
	case pattern == callInterrupt || pattern == callDown:
		return r.endings, "orders to end"
	case role == secure.Agent:
		return r.agents, "agents"
	case role == secure.Controller:
		return r.leaders, "processes that lead jobs"
	}
	return r.questions, "questions"
}

// routes returns the handlers, each for the roles that the table has.
func routes(handlers map[string]http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	all := &rooms{admission.NewPlaces(questionsMost), admission.NewPlaces(endingsMost), admission.NewPlaces(agentsMost), admission.NewPlaces(leadersMost)}
	for pattern, handle := range handlers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if by := callerOf(r); !cluster.RoleAllows(by.Role, pattern) {
				cluster.WriteFault(w, http.StatusForbidden, bellows.Errorf(bellows.Refused, "ask", "the cluster", "%s may not call %s", by, pattern))
				return
			}
			if p, what := all.lookup(callerOf(r).Role, pattern); p != nil {
				leave, ok := p.Take()
				if !ok {
					cluster.WriteFault(w, http.StatusServiceUnavailable, bellows.Errorf(bellows.Unavailable, "ask", "the cluster", "it has as many %s already as it takes", what).Hinted("ask again in a moment"))
					return
				}
				defer leave()
			}
			handle(w, r)
		})
	}
	return mux
}

// caller is the key of the caller's name in the context of a question, and connection that of the connection.
type (
	caller     struct{}
	connection struct{}
)

// isKnown gives back the place that the connection of a question had while its caller was unknown.
func isKnown(r *http.Request) {
	if sealed, ok := r.Context().Value(connection{}).(*tls.Conn); ok {
		if g, ok := sealed.NetConn().(*placedConn); ok {
			g.leave()
		}
	}
}

func callerOf(r *http.Request) secure.Name {
	n, _ := r.Context().Value(caller{}).(secure.Name)
	return n
}

// caller asks: a certificate says it, or else the token is shown, which a user has.
func (m *manager) caller(r *http.Request) (n secure.Name, err error) {
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		if n, err = m.self.Peer(*r.TLS); err != nil {
			err = bellows.Errorf(bellows.Refused, "ask", "the cluster", "the caller is unknown: %w", err).Hinted("join again, with the cluster's token")
		}
		return n, err
	}
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(cluster.Bearer(m.token))) != 1 {
		return n, bellows.Errorf(bellows.Refused, "ask", "the cluster", "the token is not this cluster's").
			Hinted("it is in the file token of the cluster's state folder; give it with --token or BELLOWS_TOKEN")
	}
	return secure.Name{Role: secure.User, ID: "of the token"}, nil
}

// guard accepts only identified callers that address this API by its name: a browser led here by another site's page
// does neither.
func (m *manager) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		if r.Host != m.address && !api.Loopback(r.Host) {
			cluster.WriteFault(w, http.StatusMisdirectedRequest, bellows.Errorf(bellows.Refused, "ask", "the cluster", "this address answers only to its own name").Hinted("call it "+m.address))
			return
		}
		by, err := m.caller(r)
		if err != nil {
			cluster.WriteFault(w, http.StatusUnauthorized, err)
			return
		}
		isKnown(r)
		control := http.NewResponseController(w)
		control.SetReadDeadline(time.Now().Add(takeWithin)) // fails only where reading does
		r.Body = http.MaxBytesReader(w, r.Body, bodyMost)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), caller{}, by)))
	})
}

// certify gives a joining process a certificate as an agent, and an agent a new one to replace its own.
func (m *manager) certify(by secure.Name, q cluster.Request) (c cluster.Certificate, err error) {
	if by.Role == secure.User {
		m.mu.Lock()
		m.guests++
		by = secure.Name{Role: secure.Agent, ID: fmt.Sprintf("caller-%d", m.guests)}
		m.mu.Unlock()
	}
	if c.Certificate, err = m.issues.Issue(q.Key, by); err != nil {
		return c, err
	}
	c.Authority = m.issues.Certificate()
	return c, nil
}

// reply answers with a value or an error.
func reply(w http.ResponseWriter, v any, err error) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(takeWithin)) // fails only where writing does
	if err != nil {
		cluster.WriteFault(w, http.StatusConflict, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}

// answer decodes a request's body and answers it. A client that disconnects abandons its request.
func answer[Q, A any](w http.ResponseWriter, r *http.Request, do func(context.Context, Q) (A, error)) {
	var q Q
	text, err := io.ReadAll(r.Body)
	if err != nil {
		reply(w, nil, bellows.Errorf(bellows.Usage, "read", "the question", "%w", err))
		return
	}
	if err := cluster.Decode(text, &q); err != nil {
		reply(w, nil, err)
		return
	}
	http.NewResponseController(w).SetReadDeadline(time.Time{}) // what is asked may take longer
	a, err := do(r.Context(), q)
	reply(w, a, err)
}

func (m *manager) jobOf(r *http.Request) (*job, error) {
	n, err := strconv.Atoi(r.PathValue("job"))
	if err != nil {
		return nil, bellows.Errorf(bellows.Usage, "find", "job "+r.PathValue("job"), "it must be a number")
	}
	return m.job(n)
}

func (m *manager) serveInterrupt(w http.ResponseWriter, r *http.Request) {
	j, err := m.jobOf(r)
	if err == nil {
		err = m.cancel(j)
	}
	reply(w, struct{}{}, err)
}

// serveLead takes the session of the process that leads a job, and of no other.
func (m *manager) serveLead(w http.ResponseWriter, r *http.Request) {
	j, err := m.jobOf(r)
	by := callerOf(r)
	if err == nil {
		m.mu.Lock()
		err = j.leads(by)
		m.mu.Unlock()
	}
	if err != nil {
		reply(w, nil, err)
		return
	}
	m.session(w, func(s *cluster.Session, _ *cluster.Hello) error { return m.conduct(s, by, j) })
}

func (m *manager) serveOutput(w http.ResponseWriter, r *http.Request) {
	j, err := m.jobOf(r)
	if err != nil {
		reply(w, nil, err)
		return
	}
	from, err := strconv.ParseInt(cmp.Or(r.URL.Query().Get("from"), "0"), 10, 64)
	if err != nil || from < 0 {
		reply(w, nil, bellows.Errorf(bellows.Usage, "read", "the job's output", "it begins at a number of bytes"))
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer m.followers.TakeOver(func() { cancel(errYield) })()
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Time{}) // nothing more is read
	w.Header().Set("Content-Type", "application/jsonl")
	begun := false
	write := func(b []byte) error {
		begun = true
		if err := control.SetWriteDeadline(time.Now().Add(takeWithin)); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		return control.Flush()
	}
	err = j.spool.Follow(ctx, from, write)
	if err != nil && context.Cause(ctx) == errYield {
		err = write([]byte(`{"again":true}` + "\n"))
	}
	if err != nil && !begun {
		reply(w, nil, err)
	}
}

// errYield is the cause when a follower has to give its place to another one.
var errYield = errors.New("another command follows a job")

// session makes a session of a connection, takes its hello, and hears it to its end.
func (m *manager) session(w http.ResponseWriter, hear func(*cluster.Session, *cluster.Hello) error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		reply(w, nil, bellows.Errorf(bellows.Bug, "begin", "a session", "%w", err))
		return
	}
	conn.SetDeadline(time.Time{}) // fails only where reading does
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+cluster.Upgrade+"\r\n\r\n")
	early := make([]byte, buffered.Reader.Buffered())
	io.ReadFull(buffered, early) // they are there
	s := cluster.NewSession(conn, strings.NewReader(string(early)))
	defer s.Close()
	msg, err := s.Receive()
	if err == nil && msg.Hello == nil {
		err = bellows.Errorf(bellows.Refused, "begin", "a session", "it does not say hello")
	}
	if err == nil {
		err = hear(s, msg.Hello)
	}
	if err != nil {
		m.logf("%v", err)
		_ = s.Send(cluster.Refusal(err)) // it closes the session
	}
}

// close ends the API. Sessions end with the manager.
func (s *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
	s.serving.Wait()
}
