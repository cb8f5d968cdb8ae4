package secure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellows/internal/require"
)

// clock is the time of a test.
type clock struct{ at time.Time }

func (c *clock) time() time.Time { return c.at }

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func authority(t *testing.T, c *clock) *Authority {
	t.Helper()
	a, err := newAuthority("a test", c.time)
	require.NoError(t, err)
	return a
}

func member(t *testing.T, a *Authority, role Role, id string) *Identity {
	t.Helper()
	i, err := a.Member(Name{role, id})
	require.NoError(t, err)
	return i
}

// shake connects two sides over a pipe. It returns the errors of their handshakes, and what each learned of the other.
func shake(t *testing.T, server, client *tls.Config) (s, c tls.ConnectionState, serverErr, clientErr error) {
	t.Helper()
	x, y := net.Pipe()
	defer x.Close()
	defer y.Close()
	a, b := tls.Server(x, server), tls.Client(y, client)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if serverErr = a.HandshakeContext(t.Context()); serverErr != nil {
			x.Close()
		}
	}()
	if clientErr = b.HandshakeContext(t.Context()); clientErr != nil {
		y.Close()
	}
	<-done
	return a.ConnectionState(), b.ConnectionState(), serverErr, clientErr
}

// TestBothSidesKnowEachOther by the certificates of one authority, over TLS 1.3.
func TestBothSidesKnowEachOther(t *testing.T) {
	t.Parallel()
	c := &clock{noon}
	a := authority(t, c)
	server, client := member(t, a, Manager, "manager"), member(t, a, Agent, "node-3")
	s, cs, serverErr, clientErr := shake(t, server.Server(), client.Client(AdmitRole(Manager)))
	if serverErr != nil || clientErr != nil {
		t.Fatal(serverErr, clientErr)
	}
	if who, err := server.Peer(s); err != nil || who != (Name{Agent, "node-3"}) || s.Version != tls.VersionTLS13 {
		t.Errorf("the server's peer is %v, %v, version %x", who, err, s.Version)
	}
	if who, err := client.Peer(cs); err != nil || who != (Name{Manager, "manager"}) {
		t.Errorf("the client's peer is %v, %v", who, err)
	}
	old := client.Client(AdmitRole(Manager))
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if _, _, serverErr, clientErr = shake(t, server.Server(), old); serverErr == nil || clientErr == nil {
		t.Error("TLS 1.2 is spoken")
	}
	var known *Stranger
	if err := Explain(serverErr); !errors.As(err, &known) || !strings.Contains(err.Error(), "it does not speak the TLS that is wanted here") {
		t.Errorf("the server says %v", err)
	}
}

// TestForeignCertificateIsNamed checks that both ends report what is wrong with a certificate, without delay.
func TestForeignCertificateIsNamed(t *testing.T) {
	t.Parallel()
	c := &clock{noon}
	a, b := authority(t, c), authority(t, c)
	server := member(t, a, Manager, "manager")
	late := member(t, a, Agent, "late")
	c.at = noon.Add(25 * time.Hour)
	require.NoError(t, a.Certify(server, server.Name()))
	fresh, early := member(t, a, Agent, "fresh"), member(t, a, Agent, "early")
	late.by.Store(nil)
	other := member(t, b, Agent, "fresh")
	none := fresh.Client(AdmitRole(Manager))
	none.GetClientCertificate = nil
	open := func(i *Identity) *tls.Config {
		config := i.Client(AdmitRole(Manager))
		config.VerifyConnection = nil // it accepts any server
		return config
	}
	for name, is := range map[string]struct {
		client *tls.Config
		at     time.Time
		want   string
	}{
		"in time":           {open(fresh), c.at, ""},
		"run out":           {open(late), c.at, "its certificate ran out at 2026-03-05T12:00:00Z, and here it is 2026-03-05T13:00:00Z"},
		"too early":         {open(early), c.at.Add(-2 * time.Hour), "its certificate is valid from 2026-03-05T12:00:00Z, and here it is 2026-03-05T11:00:00Z: the clocks of the hosts differ"},
		"another authority": {open(other), c.at, "its certificate is of another authority: it belongs to another cluster or job"},
		"no certificate":    {none, c.at, "it shows no certificate"},
	} {
		now := c.at
		s, _, serverErr, clientErr := shake(t, server.Server(), is.client)
		if serverErr != nil || clientErr != nil {
			t.Errorf("%s: the handshake ends with %v, %v", name, serverErr, clientErr)
			continue
		}
		c.at = is.at
		if _, err := server.Peer(s); (is.want == "") != (err == nil) || is.want != "" && err.Error() != is.want {
			t.Errorf("%s: %v", name, err)
		}
		c.at = now
	}
	for name, is := range map[string]struct {
		server, client *tls.Config
		want           string
	}{
		"another authority": {other.Server(), fresh.Client(AdmitRole(Agent)), "another authority"},
		"another role":      {early.Server(), fresh.Client(AdmitRole(Manager)), "it is agent early, and no manager"},
		"run out":           {late.Server(), fresh.Client(AdmitRole(Agent)), "ran out at"},
	} {
		_, _, serverErr, clientErr := shake(t, is.server, is.client)
		known, told := (*Stranger)(nil), Explain(serverErr)
		if !errors.As(clientErr, &known) || !strings.Contains(Explain(clientErr).Error(), is.want) || !strings.Contains(fmt.Sprint(told), "it has refused this side's TLS or certificate") {
			t.Errorf("%s: the client says %v, the server %v", name, clientErr, told)
		}
	}
}

// TestTokenTrustsOneAuthority checks that the manager's certificate must come with that of the token's authority.
func TestTokenTrustsOneAuthority(t *testing.T) {
	t.Parallel()
	c := &clock{noon}
	a, b := authority(t, c), authority(t, c)
	token, err := a.NewToken()
	require.NoError(t, err)
	manager := member(t, a, Manager, "manager")
	if _, _, serverErr, clientErr := shake(t, manager.Server(), pinned(token, c.time)); serverErr != nil || clientErr != nil {
		t.Fatal(serverErr, clientErr)
	}
	// A certificate of another authority, followed by the right authority's, which is public.
	liar := member(t, b, Manager, "manager")
	h := *liar.inUse.Load()
	h.own.Certificate = [][]byte{h.own.Certificate[0], a.Certificate()}
	liar.inUse.Store(&h)
	for name, is := range map[string]struct {
		server *Identity
		want   string
	}{
		"another authority": {member(t, b, Manager, "manager"), "the token is of another cluster"},
		"a borrowed one":    {liar, "its certificate is of another authority"},
		"an agent":          {member(t, a, Agent, "node-1"), "it is agent node-1, and no manager"},
	} {
		if _, _, _, err := shake(t, is.server.Server(), pinned(token, c.time)); err == nil || !strings.Contains(err.Error(), is.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if again, err := ParseToken(token.Text()); err != nil || again != token {
		t.Errorf("it is read as %s, %v", again.Text(), err)
	}
	if said := fmt.Sprintf("%v %s %+v %q", token, token, token, token); strings.Contains(said, token.secret[:8]) {
		t.Errorf("it is printed: %s", said)
	}
}

// TestCertificatesAreRenewedInTime checks renewal by the authority's own process when a due one is shown, and of a
// given key by its holder.
func TestCertificatesAreRenewedInTime(t *testing.T) {
	t.Parallel()
	c := &clock{noon}
	a := authority(t, c)
	manager, agent := member(t, a, Manager, "manager"), member(t, a, Agent, "node-1")
	if due := manager.Due(); !due.Equal(noon.Add(16 * time.Hour)) {
		t.Errorf("it is due at %v", due)
	}
	first, _ := manager.shown()
	c.at = manager.Due().Add(-1)
	if before, err := manager.shown(); err != nil || before != first {
		t.Errorf("it is renewed before it is due: %v", err)
	}
	c.at = manager.Due()
	if after, err := manager.shown(); err != nil || after == first || !manager.Due().Equal(c.at.Add(16*time.Hour)) {
		t.Errorf("it is not renewed when it is due: %v", err)
	}
	agent.by.Store(nil)
	c.at = noon.Add(24*time.Hour + 1)
	s, _, _, _ := shake(t, manager.Server(), agent.Client(AdmitRole(Manager)))
	if _, err := manager.Peer(s); err == nil {
		t.Error("one that has run out passes")
	}
	renewed, err := a.Issue(agent.Public(), agent.Name())
	if err == nil {
		err = agent.Hold(renewed, a.Certificate())
	}
	require.NoError(t, err)
	s, _, _, _ = shake(t, manager.Server(), agent.Client(AdmitRole(Manager)))
	if who, err := manager.Peer(s); err != nil || who != agent.Name() {
		t.Errorf("the new one: %v, %v", who, err)
	}
}

// TestOnlyItsOwnIsHeld: a certificate of another key, or of another authority than is said, is not taken, and the one in use stays.
func TestOnlyItsOwnIsHeld(t *testing.T) {
	t.Parallel()
	c := &clock{noon}
	a, b := authority(t, c), authority(t, c)
	i, other := member(t, a, Agent, "node-1"), member(t, a, Agent, "node-2")
	was := i.inUse.Load()
	own, err := a.Issue(i.Public(), Name{Agent, "node-1"})
	require.NoError(t, err)
	for name, is := range map[string]struct {
		certificate, authority []byte
		want                   string
	}{
		"another's":         {other.inUse.Load().own.Certificate[0], a.Certificate(), "it is of another key"},
		"another authority": {own, b.Certificate(), "its certificate is of another authority"},
		"none":              {nil, a.Certificate(), "x509"},
		"no authority":      {own, own[:20], "x509"},
	} {
		if err := i.Hold(is.certificate, is.authority); err == nil || !strings.Contains(err.Error(), is.want) || i.inUse.Load() != was {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []Name{{}, {User, "x"}, {Agent, ""}, {Agent, "Node 1"}, {Agent, strings.Repeat("a", idMost+1)}} {
		if _, err := a.Issue(i.Public(), bad); err == nil {
			t.Errorf("%q is certified", bad)
		}
	}
	if _, err := a.Issue(i.Public()[1:], i.Name()); err == nil {
		t.Error("31 bytes are certified")
	}
	fresh, err := NewIdentity()
	require.NoError(t, err)
	if _, err := json.Marshal(fresh); err == nil || !fresh.Due().IsZero() || fresh.Name() != (Name{}) {
		t.Errorf("one without a certificate: %v", err)
	}
	if _, _, serverErr, _ := shake(t, fresh.Server(), i.Client(AdmitRole(Agent))); !strings.Contains(fmt.Sprint(serverErr), "holds no certificate yet") {
		t.Errorf("one without a certificate serves: %v", serverErr)
	}
}

// TestNamesAreReadFromCertificates of this program alone: another organization's, or one that has several, is none, whatever else it says.
func TestNamesAreReadFromCertificates(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a", idMost)
	ours := func(change func(*pkix.Name)) *x509.Certificate {
		c := &x509.Certificate{Subject: Name{Agent, longest}.subject()}
		change(&c.Subject)
		return c
	}
	if n, err := nameOf(ours(func(*pkix.Name) {})); err != nil || n != (Name{Agent, longest}) {
		t.Errorf("%v, %v", n, err)
	}
	for what, change := range map[string]func(*pkix.Name){
		"another organization": func(s *pkix.Name) { s.Organization[0] = "other" },
		"none":                 func(s *pkix.Name) { s.Organization = nil },
		"two":                  func(s *pkix.Name) { s.Organization = append(s.Organization, "other") },
		"no role":              func(s *pkix.Name) { s.OrganizationalUnit = nil },
		"two roles":            func(s *pkix.Name) { s.OrganizationalUnit = append(s.OrganizationalUnit, string(Manager)) },
		"another role":         func(s *pkix.Name) { s.OrganizationalUnit[0] = "king" },
		"a long name":          func(s *pkix.Name) { s.CommonName += "a" },
	} {
		if n, err := nameOf(ours(change)); err == nil {
			t.Errorf("%s: it is of %v", what, n)
		}
	}
}

// TestAnIdentityPasses by a pipe to a process that is started, whole.
func TestAnIdentityPasses(t *testing.T) {
	t.Parallel()
	a, err := NewAuthority("a test")
	require.NoError(t, err)
	i := member(t, a, Controller, "job-7")
	text, err := json.Marshal(struct{ Identity *Identity }{i})
	require.NoError(t, err)
	var got struct{ Identity *Identity }
	require.NoError(t, json.Unmarshal(text, &got))
	if got.Identity.Name() != i.Name() || !reflect.DeepEqual(got.Identity.Public(), i.Public()) || !got.Identity.Due().Equal(i.Due()) {
		t.Errorf("it is %v", got.Identity.Name())
	}
	manager := member(t, a, Manager, "manager")
	s, _, _, _ := shake(t, manager.Server(), got.Identity.Client(AdmitRole(Manager)))
	if who, err := manager.Peer(s); err != nil || who != i.Name() {
		t.Errorf("the manager sees %v, %v", who, err)
	}
}

// TestAuthorityIsInherited checks that another process takes over an authority, whose certificates are accepted as its
// own. An invalid one is refused.
func TestAuthorityIsInherited(t *testing.T) {
	t.Parallel()
	a, err := NewAuthority("a job")
	require.NoError(t, err)
	text, err := json.Marshal(a)
	successor := &Authority{}
	if err == nil {
		err = json.Unmarshal(text, successor)
	}
	require.NoError(t, err)
	before, after := member(t, a, Node, "1"), member(t, successor, Node, "2")
	s, c, _, _ := shake(t, before.Server(), after.Client(AdmitRole(Node)))
	if who, err := before.Peer(s); err != nil || who.ID != "2" {
		t.Errorf("the predecessor sees %v, %v", who, err)
	}
	if who, err := after.Peer(c); err != nil || who.ID != "1" {
		t.Errorf("the successor sees %v, %v", who, err)
	}
	other, err := NewAuthority("another")
	require.NoError(t, err)
	for what, bad := range map[string]inherited{
		"a short key":              {a.key.Seed()[1:], a.cert.Raw},
		"no certificate":           {a.key.Seed(), []byte{1}},
		"one of another key":       {a.key.Seed(), other.cert.Raw},
		"one that is no authority": {before.key.Seed(), before.inUse.Load().own.Certificate[0]},
	} {
		text, err := json.Marshal(bad)
		require.NoError(t, err)
		if json.Unmarshal(text, &Authority{}) == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// TestPlainPeerIsReportedInWords checks the error when the peer does not speak TLS; any other error stays as it is.
func TestPlainPeerIsReportedInWords(t *testing.T) {
	t.Parallel()
	a := authority(t, &clock{noon})
	i := member(t, a, Agent, "node-1")
	hear := func(text string) error {
		x, y := net.Pipe()
		defer x.Close()
		go func() {
			y.Write([]byte(text))
			y.Close()
		}()
		return Explain(tls.Server(x, i.Server()).Handshake())
	}
	if err := hear("BELLOWS\nand so on"); !strings.Contains(fmt.Sprint(err), "it does not speak TLS, which is wanted here") {
		t.Errorf("plain text: %v", err)
	}
	if err := hear(""); !strings.Contains(fmt.Sprint(err), "it closed the connection instead of speaking TLS") {
		t.Errorf("the end: %v", err)
	}
	if err := Explain(context.Canceled); err != context.Canceled || Explain(nil) != nil {
		t.Errorf("another error becomes %v", err)
	}
}

// TestSameHost by the addresses of a connection's ends.
func TestSameHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		local, remote net.Addr
		want          bool
	}{
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 2}, true},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1).To4()}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1).To16()}, true},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2)}, false},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, false},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "a"}, &net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "b"}, false},
		{&net.UnixAddr{Name: "a"}, &net.UnixAddr{Name: "a"}, false},
	} {
		if got := SameHost(ends{c.local, c.remote}); got != c.want {
			t.Errorf("%v and %v: %v", c.local, c.remote, got)
		}
	}
}

// ends is a connection that has addresses and nothing else.
type ends struct{ local, remote net.Addr }

func (e ends) LocalAddr() net.Addr            { return e.local }
func (e ends) RemoteAddr() net.Addr           { return e.remote }
func (ends) Read([]byte) (int, error)         { return 0, net.ErrClosed }
func (ends) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (ends) Close() error                     { return nil }
func (ends) SetDeadline(time.Time) error      { return nil }
func (ends) SetReadDeadline(time.Time) error  { return nil }
func (ends) SetWriteDeadline(time.Time) error { return nil }

// FuzzTokens: what is read as a token is written as it was.
func FuzzTokens(f *testing.F) {
	for _, text := range []string{"", ".", strings.Repeat("0", 48) + "." + strings.Repeat("a", 64), strings.Repeat("0", 48) + "." + strings.Repeat("A", 64), strings.Repeat("0", 113), strings.Repeat("0", 64) + "." + strings.Repeat("a", 48)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if token, err := ParseToken(text); err == nil && token.Text() != text {
			t.Errorf("%q is read as %q", text, token.Text())
		}
	})
}

// FuzzCertificates: whatever comes as an identity, or as certificates, is refused or is what this process may hold.
func FuzzCertificates(f *testing.F) {
	a, err := NewAuthority("a test")
	if err != nil {
		f.Fatal(err)
	}
	i, err := a.Member(Name{Agent, "node-1"})
	if err != nil {
		f.Fatal(err)
	}
	text, err := json.Marshal(i)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, i.inUse.Load().own.Certificate[0], a.Certificate())
	f.Add([]byte(`{}`), a.Certificate(), a.Certificate())
	f.Add([]byte(`{"Key":"AAAA"}`), []byte{0x30}, []byte{})
	f.Fuzz(func(t *testing.T, text, certificate, authority []byte) {
		var read Identity
		if json.Unmarshal(text, &read) == nil && read.Name().check() != nil {
			t.Errorf("it is %q", read.Name())
		}
		own := &Identity{key: i.key, now: time.Now}
		if own.Hold(certificate, authority) == nil && own.Name().check() != nil {
			t.Errorf("it holds %q", own.Name())
		}
	})
}
