package cluster

import (
	"context"
	"net/http"
	"slices"
	"time"

	"bellows/link/secure"
)

// A Call is a request from one process of a cluster to another, with the roles that may send it.
type Call struct {
	Pattern string // method and path of the manager's API, or what is done over another port
	Roles   []secure.Role
}

// Meet is the call that is made by a connection to a process of a job.
const Meet = "connect to a node of the job"

// Calls lists all of them. A call that is not in the table is not allowed. An agent speaks only for its own node, a
// controller for its own job, and a node for its own number in its job.
var Calls = []Call{
	{"GET /v1/cluster", []secure.Role{secure.User}},
	{"POST /v1/jobs", []secure.Role{secure.User}},
	{"POST /v1/jobs/{job}/interrupt", []secure.Role{secure.User}},
	{"GET /v1/jobs/{job}/output", []secure.Role{secure.User}},
	{"POST /v1/scale", []secure.Role{secure.User}},
	{"POST /v1/drain", []secure.Role{secure.User}},
	{"POST /v1/down", []secure.Role{secure.User}},
	{"POST /v1/certificates", []secure.Role{secure.User, secure.Agent}},
	{"POST /v1/agents", []secure.Role{secure.Agent}},
	{"POST /v1/jobs/{job}/lead", []secure.Role{secure.Controller}},
	{Meet, []secure.Role{secure.Node}},
}

// RoleAllows reports whether a role may make a call.
func RoleAllows(role secure.Role, pattern string) bool {
	return slices.ContainsFunc(Calls, func(c Call) bool { return c.Pattern == pattern && slices.Contains(c.Roles, role) })
}

// Request asks for the certificate of a public key, of Ed25519.
type Request struct {
	Key []byte `json:"key"`
}

// Certificate is the answer, in DER.
type Certificate struct {
	Certificate []byte `json:"certificate"`
	Authority   []byte `json:"authority"`
}

// Member returns this client with a certificate: its own, or one that it is given for the token.
func (c *Client) Member(ctx context.Context) (*Client, error) {
	if c.identity != nil {
		return c, nil
	}
	i, err := secure.NewIdentity()
	if err == nil {
		err = c.certify(ctx, i)
	}
	if err != nil {
		return nil, err
	}
	return NewMember(c.Address, i), nil
}

// certify makes the manager certify an identity, or renew its certificate.
func (c *Client) certify(ctx context.Context, i *secure.Identity) error {
	var a Certificate
	if err := c.ask(ctx, answerWithin, http.MethodPost, "/v1/certificates", Request{i.Public()}, &a); err != nil {
		return err
	}
	return i.Hold(a.Certificate, a.Authority)
}

// renewAgain is how long a renewal that failed is put off. A certificate that is due has hours left.
const renewAgain = time.Minute

// Keep renews the certificate of a process of the cluster whenever it is due, until ctx ends.
func (c *Client) Keep(ctx context.Context) {
	wait := time.Until(c.identity.Due())
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		wait = renewAgain
		if c.certify(ctx, c.identity) == nil { // else the manager is away, which its session tells of
			wait = max(renewAgain, time.Until(c.identity.Due()))
		}
	}
}
