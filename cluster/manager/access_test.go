//go:build unix

package manager

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/cluster"
	"bellows/link/secure"
)

// recordingAPI returns the API of a manager whose calls only record that they were allowed.
func recordingAPI(t *testing.T) (m *manager, url string) {
	t.Helper()
	m = &manager{}
	var err error
	if m.issues, err = secure.NewAuthority("a test"); err != nil {
		t.Fatal(err)
	}
	if m.self, err = m.issues.Member(secure.Name{Role: secure.Manager, ID: "manager"}); err != nil {
		t.Fatal(err)
	}
	if m.token, err = m.issues.NewToken(); err != nil {
		t.Fatal(err)
	}
	handlers := m.handlers()
	for pattern := range handlers {
		handlers[pattern] = func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, callerOf(r).String()) }
	}
	server := httptest.NewUnstartedServer(m.guard(routes(handlers)))
	server.Listener = tls.NewListener(server.Listener, m.self.Server())
	server.Start()
	t.Cleanup(server.Close)
	return m, "https://" + server.Listener.Addr().String()
}

func named(t *testing.T, a *secure.Authority, role secure.Role, id string) *tls.Config {
	t.Helper()
	i, err := a.Member(secure.Name{Role: role, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return i.Client(func(secure.Name) error { return nil })
}

// TestEveryCallIsForItsRoles tries each call as each role, without a certificate, and with one of another authority:
// only the table allows a call.
func TestEveryCallIsForItsRoles(t *testing.T) {
	t.Parallel()
	m, url := recordingAPI(t)
	var patterns []string
	for pattern := range m.handlers() {
		patterns = append(patterns, pattern)
	}
	for _, c := range cluster.Calls {
		if slices.Contains(patterns, c.Pattern) == (c.Pattern == cluster.Meet) {
			t.Errorf("%s: it is in the table, and served: not one of both", c.Pattern)
		}
	}
	if len(patterns) != len(cluster.Calls)-1 {
		t.Errorf("%d calls are served, and %d in the table", len(patterns), len(cluster.Calls)-1)
	}
	job, err := secure.NewAuthority("a job")
	if err != nil {
		t.Fatal(err)
	}
	stranger := named(t, job, secure.Agent, "caller-1")
	stranger.VerifyConnection = nil // it accepts any server
	ask := func(pattern string, c *tls.Config, token string) (int, string) {
		method, path, _ := strings.Cut(pattern, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, url+strings.ReplaceAll(path, "{job}", "1"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", token)
		answer, err := tlsClient(c).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	tried := 0
	for _, pattern := range patterns {
		for _, role := range secure.Roles {
			config, token := secure.Pinned(m.token), cluster.Bearer(m.token)
			if role != secure.User {
				config, token = named(t, m.issues, role, "x-1"), ""
			}
			want := http.StatusForbidden
			if cluster.RoleAllows(role, pattern) {
				want = http.StatusOK
			}
			if code, text := ask(pattern, config, token); code != want || code == http.StatusOK && !strings.HasPrefix(text, string(role)) {
				t.Errorf("%s as %s: %d %s, want %d", pattern, role, code, text, want)
			}
			tried++
		}
		if code, text := ask(pattern, secure.Pinned(m.token), ""); code != http.StatusUnauthorized || !strings.Contains(text, "the token is not this cluster's") {
			t.Errorf("%s as nobody: %d %s", pattern, code, text)
		}
		if code, text := ask(pattern, stranger, cluster.Bearer(m.token)); code != http.StatusUnauthorized || !strings.Contains(text, "another authority") {
			t.Errorf("%s with another's certificate: %d %s", pattern, code, text)
		}
	}
	if tried != 4*(len(cluster.Calls)-1) {
		t.Errorf("%d pairs were tried", tried)
	}
}

// TestFalseManagerLearnsNothing checks that a token is not sent to another cluster's manager, and that plain text to a
// TLS port, and TLS to a plain port, end with a sentence.
func TestFalseManagerLearnsNothing(t *testing.T) {
	u := bringUp(t)
	other, err := secure.NewAuthority("another")
	if err != nil {
		t.Fatal(err)
	}
	token, err := other.NewToken()
	if err != nil {
		t.Fatal(err)
	}
	refused := func(name string, err error, want string) {
		t.Helper()
		if bellows.KindOf(err) != bellows.Refused || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = cluster.NewClient(u.client.Address, token).Status(t.Context())
	refused("another cluster's token", err, "the token is of another cluster, or the cluster has been brought up anew since; take address and token from one cluster")
	member, err := other.Member(secure.Name{Role: secure.Agent, ID: "caller-1"})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = cluster.NewMember(u.client.Address, member).Session(t.Context(), "/v1/agents", cluster.Hello{Slots: 1})
	refused("another cluster's agent", err, "its certificate is of another authority")

	plain, err := net.Dial("tcp", u.client.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	fmt.Fprintf(plain, "GET /v1/cluster HTTP/1.1\r\nHost: x\r\n\r\n")
	if said, _ := io.ReadAll(plain); !strings.Contains(string(said), "HTTP request to an HTTPS server") {
		t.Errorf("plain text is told %q", said)
	}
	heard := make(chan string, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			heard <- err.Error()
			return
		}
		defer c.Close()
		first, err := bufio.NewReader(c).Peek(3)
		if err != nil {
			heard <- err.Error()
			return
		}
		heard <- string(first)
		fmt.Fprintf(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	}()
	_, err = cluster.NewClient(l.Addr().String(), token).Status(t.Context())
	refused("a plain port", err, "it does not speak TLS, which is wanted here")
	if first := <-heard; first != "\x16\x03\x01" {
		t.Errorf("what it hears is %q, and no TLS", first)
	}
}

// TestAnAgentIsWhoItsCertificateSays, gets another of the same name, and none for a key that is none.
func TestAnAgentIsWhoItsCertificateSays(t *testing.T) {
	u := bringUp(t)
	shown, err := u.folder.Token()
	if err != nil {
		t.Fatal(err)
	}
	certify := func(c *tls.Config, token string, key []byte) (int, []byte) {
		text, err := json.Marshal(cluster.Request{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+u.client.Address+"/v1/certificates", strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", token)
		answer, err := tlsClient(c).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, body
	}
	if code, text := certify(secure.Pinned(shown), cluster.Bearer(shown), []byte("short")); code != http.StatusConflict || !strings.Contains(string(text), "the key has 5 bytes") {
		t.Errorf("no key: %d %s", code, text)
	}
	i, err := secure.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	hold := func(code int, text []byte) {
		t.Helper()
		var c cluster.Certificate
		if err := json.Unmarshal(text, &c); err != nil || code != http.StatusOK {
			t.Fatal(code, err)
		}
		if err := i.Hold(c.Certificate, c.Authority); err != nil || i.Name() != (secure.Name{Role: secure.Agent, ID: "caller-2"}) {
			t.Errorf("it is %v, %v", i.Name(), err)
		}
	}
	hold(certify(secure.Pinned(shown), cluster.Bearer(shown), i.Public()))
	due := i.Due()
	hold(certify(i.Client(secure.AdmitRole(secure.Manager)), "", i.Public()))
	if i.Due().Before(due) {
		t.Errorf("the second is due before the first")
	}
	_, _, err = cluster.NewMember(u.client.Address, i).Session(t.Context(), "/v1/agents", cluster.Hello{Node: "node-1", Slots: 1, Program: u.program})
	if bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), `agent caller-2 is not "node-1"`) {
		t.Errorf("under another's name: %v", err)
	}
	s, _, err := cluster.NewMember(u.client.Address, i).Session(t.Context(), "/v1/agents", cluster.Hello{Slots: 1, Program: u.program})
	if err != nil {
		t.Fatalf("with a certificate that was renewed: %v", err)
	}
	s.Close()
	if _, err := u.client.Status(t.Context()); err != nil {
		t.Errorf("the token: %v", err)
	}
}

// TestAControllerLeadsItsOwnJob and no other, whatever number it asks for.
func TestAControllerLeadsItsOwnJob(t *testing.T) {
	t.Parallel()
	m := &manager{jobs: []*job{{number: 1}}}
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), caller{}, secure.Name{Role: secure.Controller, ID: "job-2"}), http.MethodPost, "/v1/jobs/1/lead", nil)
	r.SetPathValue("job", "1")
	w := httptest.NewRecorder()
	if m.serveLead(w, r); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "controller job-2 leads another one") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestOldTermLeaderIsRefused, and what was under way from it when it died does nothing.
func TestOldTermLeaderIsRefused(t *testing.T) {
	t.Parallel()
	j := &job{number: 1, recovering: recovering{term: 3}, processes: map[uint64]uint64{}}
	m := &manager{jobs: []*job{j}, current: j}
	if err := m.conduct(nil, secure.Name{Role: secure.Controller, ID: "job-1-2"}, j); bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "controller job-1-2 leads another one, or led it once") {
		t.Errorf("who led it in term 2: %v", err)
	}
	old, now := &cluster.Session{}, &cluster.Session{}
	j.session = now
	m.fromLeader(j, old, cluster.Message{Process: 1, Start: &cluster.Start{Node: "node-1"}})
	m.fromLeader(j, old, cluster.Message{Progress: &cluster.Progress{Checkpoint: &cluster.Checkpoint{Era: 9, Commit: 9}}})
	m.fromLeader(j, old, cluster.Message{Run: "elsewhere"})
	if len(j.processes) != 0 || j.checkpoint != nil || j.run != "" || j.session != now {
		t.Errorf("it was heard: %+v", j)
	}
}
