package secure

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"
)

// base returns what all connections have.
func base() *tls.Config {
	return &tls.Config{
		MinVersion:                  tls.VersionTLS13,
		NextProtos:                  nil, // one protocol on each port
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true, // frames are long
	}
}

// Server returns the configuration of connections that others open. It lets every caller finish the handshake, even
// without a certificate: Peer returns its name.
func (i *Identity) Server() *tls.Config {
	c := base()
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return i.shown() }
	c.ClientAuth = tls.RequestClientCert
	return c
}

// Client returns the configuration of connections that this process opens. The other side must hold a certificate of
// the same authority and be accepted by admit.
func (i *Identity) Client(admit func(Name) error) *tls.Config {
	c := base()
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.shown() }
	c.InsecureSkipVerify = true // of names of hosts; VerifyConnection does the rest
	c.VerifyConnection = func(s tls.ConnectionState) error {
		n, err := i.Peer(s)
		if err == nil {
			err = admit(n)
		}
		return stranger(err)
	}
	return c
}

// shown returns the certificate that is in use, which an authority of this process renews when it is due.
func (i *Identity) shown() (*tls.Certificate, error) {
	if by := i.by.Load(); by != nil && !i.now().Before(i.Due()) {
		if err := by.Certify(i, i.Name()); err != nil {
			return nil, err
		}
	}
	h := i.inUse.Load()
	if h == nil {
		return nil, errors.New("this process holds no certificate yet")
	}
	return &h.own, nil
}

// Peer returns the name at the other end of a connection whose handshake is over, or why that peer does not belong
// here.
func (i *Identity) Peer(s tls.ConnectionState) (n Name, err error) {
	h := i.inUse.Load()
	switch {
	case h == nil:
		return n, errors.New("this process holds no certificate yet")
	case len(s.PeerCertificates) == 0:
		return n, errors.New("it shows no certificate")
	}
	return h.verify(s.PeerCertificates[0], i.now())
}

// Pinned returns the configuration of connections to the manager of the cluster that a token is of, without a
// certificate of one's own.
func Pinned(t Token) *tls.Config { return pinned(t, time.Now) }

func pinned(t Token, now func() time.Time) *tls.Config {
	c := base()
	c.InsecureSkipVerify = true // of names of hosts; VerifyConnection does the rest
	c.VerifyConnection = func(s tls.ConnectionState) error {
		roots := x509.NewCertPool()
		at := slices.IndexFunc(s.PeerCertificates, func(c *x509.Certificate) bool { return fingerprint(c) == t.authority })
		if at < 1 {
			return stranger(errors.New("the token is of another cluster, or the cluster has been brought up anew since"))
		}
		roots.AddCert(s.PeerCertificates[at])
		n, err := verify(s.PeerCertificates[0], roots, now())
		if err == nil {
			err = AdmitRole(Manager)(n)
		}
		return stranger(err)
	}
	return c
}

// Is returns a function that admits one role.
func AdmitRole(role Role) func(Name) error {
	return func(n Name) error {
		if n.Role != role {
			return fmt.Errorf("it is %s, and no %s", n, role)
		}
		return nil
	}
}

// Stranger is the error of a peer with another name than expected. Another try does not help.
type Stranger struct{ Err error }

func (s *Stranger) Error() string { return s.Err.Error() }
func (s *Stranger) Unwrap() error { return s.Err }

func stranger(err error) error {
	if err == nil {
		return nil
	}
	return &Stranger{err}
}

// Explain says in words what a failure of TLS means. An error that is none it returns as it is.
func Explain(err error) error {
	known, record, op := (*Stranger)(nil), tls.RecordHeaderError{}, (*net.OpError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &record):
		return &Stranger{fmt.Errorf("it does not speak TLS, which is wanted here (%w)", record)}
	case errors.As(err, &op) && op.Op == "remote error":
		return &Stranger{fmt.Errorf("it has refused this side's TLS or certificate: %w", op.Err)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("it closed the connection instead of speaking TLS: it may not know TLS, or have no room: %v", err)
	case strings.HasPrefix(err.Error(), "tls: "):
		return &Stranger{fmt.Errorf("it does not speak the TLS that is wanted here: %w", err)}
	}
	return err
}

// SameHost reports whether both ends of a connection are on one host: they have one address. The system accepts no
// packet from outside that bears one of its own addresses.
func SameHost(c net.Conn) bool {
	a, aok := c.LocalAddr().(*net.TCPAddr)
	b, bok := c.RemoteAddr().(*net.TCPAddr)
	return aok && bok && a.IP.Equal(b.IP) && a.Zone == b.Zone
}
