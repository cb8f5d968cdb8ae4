package secure

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"bellows"
)

// How long certificates are valid: those of an authority as long as anything that it is of may run; those that it issues for a day. The
// clocks of hosts may differ by skew. A certificate is renewed when the last third of its time begins, hours before it runs out.
const (
	authorityFor = 10 * 365 * 24 * time.Hour
	issuedFor    = 24 * time.Hour
	skew         = time.Hour
)

// Authority issues certificates.
type Authority struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
	now  func() time.Time
}

// NewAuthority draws the key of an authority: that of a cluster, or of a job, as of says.
func NewAuthority(of string) (*Authority, error) { return newAuthority(of, time.Now) }

func newAuthority(of string, now func() time.Time) (*Authority, error) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, bellows.Errorf(bellows.IO, "draw", "the key of an authority", "%w", err)
	}
	a := &Authority{key: key, now: now}
	t, err := template(pkix.Name{Organization: []string{organization}, CommonName: "authority of " + of}, now(), authorityFor)
	if err != nil {
		return nil, err
	}
	t.IsCA, t.BasicConstraintsValid, t.MaxPathLenZero, t.KeyUsage = true, true, true, x509.KeyUsageCertSign
	a.cert, err = sign(t, t, public, key)
	return a, err
}

// inherited is the serialized form of an authority, for the process that replaces its holder.
type inherited struct{ Key, Certificate []byte }

// MarshalJSON returns the authority with its key, for pipes and sealed connections between processes of one user, and
// for nothing else.
func (a *Authority) MarshalJSON() ([]byte, error) {
	return json.Marshal(inherited{a.key.Seed(), a.cert.Raw})
}

// UnmarshalJSON takes what MarshalJSON has made.
func (a *Authority) UnmarshalJSON(text []byte) error {
	var p inherited
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	if len(p.Key) != ed25519.SeedSize {
		return fmt.Errorf("the key of an authority has %d bytes, not %d", len(p.Key), ed25519.SeedSize)
	}
	cert, err := x509.ParseCertificate(p.Certificate)
	if err != nil {
		return err
	}
	key := ed25519.NewKeyFromSeed(p.Key)
	if !cert.IsCA || !key.Public().(ed25519.PublicKey).Equal(cert.PublicKey) {
		return errors.New("the certificate of an authority is of another key, or of none")
	}
	a.cert, a.key, a.now = cert, key, time.Now
	return nil
}

// Certificate returns the authority's own, in DER.
func (a *Authority) Certificate() []byte { return a.cert.Raw }

// Issue certifies that a public key is of a name, for a day. The certificate is in DER.
func (a *Authority) Issue(key []byte, who Name) ([]byte, error) {
	if len(key) != ed25519.PublicKeySize {
		return nil, bellows.Errorf(bellows.Usage, "issue", "a certificate", "the key has %d bytes, and one of Ed25519 has %d", len(key), ed25519.PublicKeySize)
	}
	if err := who.check(); err != nil {
		return nil, bellows.Errorf(bellows.Bug, "issue", "a certificate", "%w", err)
	}
	t, err := template(who.subject(), a.now(), issuedFor)
	if err != nil {
		return nil, err
	}
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	c, err := sign(t, a.cert, ed25519.PublicKey(key), a.key)
	if err != nil {
		return nil, err
	}
	return c.Raw, nil
}

// Certify gives an identity of this process a certificate of the authority. It is renewed as long as both belong to
// this process.
func (a *Authority) Certify(i *Identity, who Name) error {
	c, err := a.Issue(i.Public(), who)
	if err != nil {
		return err
	}
	i.by.Store(a)
	return i.Hold(c, a.Certificate())
}

// Member draws an identity with a certificate of the authority, for a process that this one starts.
func (a *Authority) Member(who Name) (*Identity, error) {
	i, err := NewIdentity()
	if err != nil {
		return nil, err
	}
	i.now = a.now
	return i, a.Certify(i, who)
}

func template(subject pkix.Name, now time.Time, valid time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, bellows.Errorf(bellows.IO, "draw", "the number of a certificate", "%w", err)
	}
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now.Add(-skew), NotAfter: now.Add(valid)}, nil
}

func sign(t, parent *x509.Certificate, public ed25519.PublicKey, key ed25519.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, public, key)
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "make", "a certificate", "%w", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "make", "a certificate", "%w", fmt.Errorf("what was made cannot be read: %w", err))
	}
	return c, nil
}
