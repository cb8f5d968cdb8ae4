// Package clustertest has a fake manager for tests: it speaks TLS with a certificate of its own authority, and answers
// as a test says.
package clustertest

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"bellows/link/secure"
)

// Fake is such a manager, until the test ends.
type Fake struct {
	Address string // HOST:PORT
	Token   secure.Token
	issues  *secure.Authority
	self    *secure.Identity
	close   func()
}

// Serve begins one.
func Serve(t *testing.T, answer http.HandlerFunc) *Fake {
	t.Helper()
	f := &Fake{}
	var err error
	if f.issues, err = secure.NewAuthority("a test"); err != nil {
		t.Fatal(err)
	}
	if f.Token, err = f.issues.NewToken(); err != nil {
		t.Fatal(err)
	}
	f.self = f.Member(t, secure.Manager, "manager")
	server := httptest.NewUnstartedServer(answer)
	server.Listener = tls.NewListener(server.Listener, f.self.Server())
	server.Start()
	f.Address, f.close = server.Listener.Addr().String(), server.Close
	return f
}

// Close ends it. Connections that were taken over are the test's.
func (f *Fake) Close() { f.close() }

// Member returns a process with a certificate of the manager's authority.
func (f *Fake) Member(t *testing.T, role secure.Role, id string) *secure.Identity {
	t.Helper()
	i, err := f.issues.Member(secure.Name{Role: role, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Issue certifies a key as that of an agent. The answer is the certificate, and the authority's.
func (f *Fake) Issue(t *testing.T, key []byte) (certificate, authority []byte) {
	t.Helper()
	c, err := f.issues.Issue(key, secure.Name{Role: secure.Agent, ID: "guest-1"})
	if err != nil {
		t.Error(err)
	}
	return c, f.issues.Certificate()
}

// Caller returns the caller's name; zero: it has no certificate of the authority.
func (f *Fake) Caller(r *http.Request) secure.Name {
	if r.TLS == nil {
		return secure.Name{}
	}
	n, err := f.self.Peer(*r.TLS)
	if err != nil {
		return secure.Name{}
	}
	return n
}
