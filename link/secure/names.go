package secure

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bellows"
)

// Role is what a process may be in a cluster. The user has no certificate, but the token.
type Role string

// The roles.
const (
	User       Role = "user"
	Agent      Role = "agent"
	Controller Role = "controller" // the process that leads a job
	Node       Role = "node"       // a process of a job, including node 0
	Manager    Role = "manager"
)

// Roles are those that call others.
var Roles = []Role{User, Agent, Node, Controller}

// certified are the roles that a certificate may say.
var certified = []Role{Agent, Controller, Node, Manager}

// Name is the name in a certificate.
type Name struct {
	Role Role
	ID   string // as "node-3", "job-7"; small letters, digits and dashes, at most 40
}

func (n Name) String() string { return string(n.Role) + " " + n.ID }

// idMost is how long the ID of a name may be.
const idMost = 40

func (n Name) check() error {
	if !slices.Contains(certified, n.Role) {
		return fmt.Errorf("its certificate is for %.20q, which is no role", string(n.Role))
	}
	if n.ID == "" || len(n.ID) > idMost || strings.Trim(n.ID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("its certificate is for %.40q, which is no name", n.ID)
	}
	return nil
}

// organization marks certificates of this program.
const organization = "bellows"

func (n Name) subject() pkix.Name {
	return pkix.Name{Organization: []string{organization}, OrganizationalUnit: []string{string(n.Role)}, CommonName: n.ID}
}

// nameOf reads the name of a certificate.
func nameOf(c *x509.Certificate) (n Name, err error) {
	s := &c.Subject
	if len(s.Organization) != 1 || s.Organization[0] != organization || len(s.OrganizationalUnit) != 1 {
		return n, errors.New("its certificate is not one of bellows")
	}
	n = Name{Role(s.OrganizationalUnit[0]), s.CommonName}
	return n, n.check()
}

// Token is a user's proof to a cluster: a secret, and the fingerprint of the cluster's authority, so that the secret is
// sent to no other. It is written as 48 and 64 hexadecimal digits with a dot between.
type Token struct{ secret, authority string }

// bytes of a token's halves.
const (
	secretBytes      = 24
	fingerprintBytes = sha256.Size
	tokenLength      = 2*secretBytes + 1 + 2*fingerprintBytes
)

// NewToken draws a token of an authority.
func (a *Authority) NewToken() (Token, error) {
	var b [secretBytes]byte
	if _, err := rand.Read(b[:]); err != nil {
		return Token{}, bellows.Errorf(bellows.IO, "make", "the cluster's token", "%w", err)
	}
	return Token{hex.EncodeToString(b[:]), fingerprint(a.cert)}, nil
}

// ParseToken reads a token.
func ParseToken(text string) (t Token, err error) {
	secret, authority, _ := strings.Cut(text, ".")
	if len(text) != tokenLength || len(secret) != 2*secretBytes || strings.Trim(secret+authority, "0123456789abcdef") != "" {
		return t, bellows.Errorf(bellows.Refused, "read", "the token", "it is none: it has %d characters, and one has %d, all hexadecimal digits but for a dot", len(text), tokenLength).
			Hinted("it is in the file token of the cluster's state folder; give it with --token or BELLOWS_TOKEN")
	}
	return Token{secret, authority}, nil
}

// Text returns the token as it is written.
func (t Token) Text() string { return t.secret + "." + t.authority }

// Format implements fmt.Formatter for every verb, so that no log shows a token.
func (Token) Format(f fmt.State, _ rune) { f.Write([]byte("(secret)")) }

// fingerprint returns the digest of a certificate's public key.
func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}
