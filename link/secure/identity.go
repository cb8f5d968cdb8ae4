package secure

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"bellows"
)

// Identity is the name of a process: a key, and the certificate in use for it. Any goroutine may use it.
type Identity struct {
	key   ed25519.PrivateKey
	now   func() time.Time
	inUse atomic.Pointer[papers]
	by    atomic.Pointer[Authority] // of this process; nil: another process's
}

// papers are a certificate, and the authority that it is of.
type papers struct {
	name  Name
	own   tls.Certificate // followed by the authority's, for peers that pin its fingerprint
	roots *x509.CertPool
}

// NewIdentity draws a key.
func NewIdentity() (*Identity, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, bellows.Errorf(bellows.IO, "draw", "a key", "%w", err)
	}
	return &Identity{key: key, now: time.Now}, nil
}

// Public returns the public half of the key: 32 bytes of Ed25519.
func (i *Identity) Public() []byte { return i.key.Public().(ed25519.PublicKey) }

// Hold takes a certificate into use, with that of its authority, both in DER. It refuses one of another key or
// authority, and one that has expired.
func (i *Identity) Hold(certificate, authority []byte) error {
	c, err := x509.ParseCertificate(certificate)
	if err != nil {
		return bellows.Errorf(bellows.Refused, "take", "a certificate", "%w", err)
	}
	root, err := x509.ParseCertificate(authority)
	if err != nil {
		return bellows.Errorf(bellows.Refused, "take", "an authority's certificate", "%w", err)
	}
	key, is := c.PublicKey.(ed25519.PublicKey)
	if !is || !bytes.Equal(key, i.Public()) {
		return bellows.Errorf(bellows.Refused, "take", "a certificate", "it is of another key")
	}
	h := &papers{own: tls.Certificate{Certificate: [][]byte{certificate, authority}, PrivateKey: i.key, Leaf: c}, roots: x509.NewCertPool()}
	h.roots.AddCert(root)
	if h.name, err = h.verify(c, i.now()); err != nil {
		return bellows.Errorf(bellows.Refused, "take", "a certificate", "%w", err)
	}
	i.inUse.Store(h)
	return nil
}

// Name returns the certified name; zero: there is no certificate yet.
func (i *Identity) Name() Name {
	if h := i.inUse.Load(); h != nil {
		return h.name
	}
	return Name{}
}

// Due returns when the certificate in use is to be renewed: with a third of its time left.
func (i *Identity) Due() time.Time {
	h := i.inUse.Load()
	if h == nil {
		return time.Time{}
	}
	c := h.own.Leaf
	return c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore.Add(skew)) / 3)
}

// passed is the serialized form of an identity for a child process, sent on a pipe that only the child reads.
type passed struct{ Key, Certificate, Authority []byte }

// MarshalJSON returns the identity with its key, for a pipe to a process of this user, and for nothing else.
func (i *Identity) MarshalJSON() ([]byte, error) {
	h := i.inUse.Load()
	if h == nil {
		return nil, errors.New("it holds no certificate")
	}
	return json.Marshal(passed{i.key.Seed(), h.own.Certificate[0], h.own.Certificate[1]})
}

// UnmarshalJSON takes what MarshalJSON has made.
func (i *Identity) UnmarshalJSON(text []byte) error {
	var p passed
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	if len(p.Key) != ed25519.SeedSize {
		return fmt.Errorf("the key of an identity has %d bytes, not %d", len(p.Key), ed25519.SeedSize)
	}
	i.key = ed25519.NewKeyFromSeed(p.Key)
	if i.now == nil {
		i.now = time.Now
	}
	return i.Hold(p.Certificate, p.Authority)
}

// verify returns the name on a certificate that the authority has issued and that has not expired.
func (h *papers) verify(c *x509.Certificate, now time.Time) (Name, error) {
	return verify(c, h.roots, now)
}

func verify(c *x509.Certificate, roots *x509.CertPool, now time.Time) (n Name, err error) {
	_, err = c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	invalid, unknown := x509.CertificateInvalidError{}, x509.UnknownAuthorityError{}
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && now.Before(c.NotBefore):
		return n, fmt.Errorf("its certificate is valid from %s, and here it is %s: the clocks of the hosts differ", stamp(c.NotBefore), stamp(now))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return n, fmt.Errorf("its certificate ran out at %s, and here it is %s", stamp(c.NotAfter), stamp(now))
	case errors.As(err, &unknown):
		return n, errors.New("its certificate is of another authority: it belongs to another cluster or job")
	case err != nil:
		return n, fmt.Errorf("its certificate is not valid: %w", err)
	}
	return nameOf(c)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
