// Package etcd implements the registry in an etcd cluster of one or several members.
//
// Open a client with Config. If a member fails, reads, and changes that were not sent yet, are sent to another member
// until Config.Within is over. A change that was sent and not answered is an error of kind Unavailable: registry.Settle
// finds out whether it took effect.
//
// The package refuses to speak over a network without TLS. Addresses are Unix sockets, this machine's loopback, or
// begin with https://.
package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/port/registry"
)

// Config is what a client needs.
type Config struct {
	Endpoints []string      // https://HOST:PORT, http://127.0.0.1:PORT, unix:///PATH or unix://PATH; at most 16
	Prefix    string        // of the keys of this registry: several may share one cluster
	TLS       *tls.Config   // for https
	Within    time.Duration // how long a call waits for an answer; 0: WithinDefault
}

// WithinDefault is the default wait for an answer of a call: members elect another leader in less.
const WithinDefault = 5 * time.Second

const (
	endpointsMost = 16
	// the interval of keep-alive probes on a connection: members refuse more frequent ones
	silentAfter = 5 * time.Second
	silentFor   = 2 * time.Second
	again       = 100 * time.Millisecond // pause before a failed request is repeated
)

// CheckEndpoint returns an error for an invalid address, or one at which others could read the traffic.
func CheckEndpoint(at string) error {
	u, err := url.Parse(at)
	why := ""
	switch {
	case err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		why = "it is no address of etcd"
	case u.Scheme == "unix" && u.Host+u.Path != "":
		return nil
	case (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.Port() == "" || u.Path != "" && u.Path != "/":
		why = "it is no address of etcd"
	case u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		why = "any process on the network could read and change the traffic"
	}
	if why == "" {
		return nil
	}
	shown := "an address that is not shown"
	if err == nil {
		u.User, u.RawQuery = nil, ""
		shown = bellows.Printable(u.String(), 200)
	}
	return bellows.Errorf(bellows.Config, "use etcd at", shown, "%s", why).Hinted("write one such as https://10.0.0.5:2379, or http://127.0.0.1:2379 on this machine")
}

// caller sends requests to etcd.
type caller interface {
	call(ctx context.Context, method string, request []byte) (response []byte, err error)
	follow(ctx context.Context, method string, request []byte) (*stream, error)
	close()
}

// client is the registry. Its fields do not change.
type client struct {
	etcd   caller
	name   string
	prefix string
	within time.Duration
	ctx    context.Context // ends when the client is closed, and with it calls and watches
	end    context.CancelFunc
}

// Open makes a client and waits until the cluster answers.
func Open(ctx context.Context, c Config) (registry.Registry, error) {
	if n := len(c.Endpoints); n == 0 || n > endpointsMost {
		return nil, bellows.Errorf(bellows.Config, "open", "etcd", "%d addresses; must be from 1 to %d", n, endpointsMost)
	}
	for _, at := range c.Endpoints {
		if err := CheckEndpoint(at); err != nil {
			return nil, err
		}
	}
	if err := registry.CheckKey(c.Prefix); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(c.Endpoints, func(at string) bool { return strings.HasPrefix(at, "https://") }) {
		c.TLS = nil // else its client would speak TLS over a Unix socket
	}
	name := "etcd at " + strings.Join(c.Endpoints, ",")
	r := newClient(newMembers(c.Endpoints, c.TLS), name, c.Prefix, cmp.Or(max(c.Within, 0), WithinDefault))
	if _, err := r.Get(ctx, "is-there"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func newClient(etcd caller, name, prefix string, within time.Duration) *client {
	ctx, end := context.WithCancel(context.Background())
	return &client{etcd: etcd, name: name, prefix: prefix + "/", within: within, ctx: ctx, end: end}
}

func (c *client) Name() string { return c.name }

func (c *client) Close() error {
	c.end()
	c.etcd.close()
	return nil
}

// call sends a request until the cluster answers, ctx ends, or it has been silent for too long. A request that a member may
// have carried out is repeated only where that is harmless.
func (c *client) call(ctx context.Context, op, subject string, harmless bool, method string, request []byte) ([]byte, error) {
	switch {
	case c.ctx.Err() != nil:
		return nil, registry.Fault(op, subject, registry.ErrClosed)
	case ctx.Err() != nil:
		return nil, registry.Fault(op, subject, ctx.Err())
	}
	inner, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	var last error
	for {
		response, err := c.etcd.call(inner, method, request)
		switch {
		case err == nil:
			return response, nil
		case c.ctx.Err() != nil:
			return nil, registry.Fault(op, subject, registry.ErrClosed)
		case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
			return nil, registry.Fault(op, subject, ctx.Err())
		case inner.Err() != nil:
			return nil, registry.Fault(op, subject, fmt.Errorf("%s has not answered%s: %w", c.name, because(last), context.DeadlineExceeded))
		case !isUnavailable(err) || !harmless && !isUnsent(err):
			return nil, registry.Fault(op, subject, cause(err))
		}
		last = err
		pause(inner, again)
	}
}

func because(last error) string {
	if last == nil {
		return ""
	}
	return " (" + bellows.Printable(last.Error(), 200) + ")"
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// cause returns the registry's error for an error of etcd, which is recognised by its code and text.
func cause(err error) error {
	var s *status
	if !errors.As(err, &s) {
		return err
	}
	switch {
	case s.code == codeNotFound && strings.Contains(s.message, "requested lease not found"):
		return registry.ErrExpired
	case s.code == codeOutOfRange && strings.Contains(s.message, "has been compacted"):
		return registry.ErrBehind
	case s.code == codeResourceExhausted && strings.Contains(s.message, "database space exceeded"):
		return registry.ErrFull
	}
	return err
}

// entry returns a key and value of etcd as this registry has them.
func (c *client) entry(kv keyValue) registry.Entry {
	return registry.Entry{Key: strings.TrimPrefix(kv.key, c.prefix), Value: kv.value, Revision: registry.Revision(kv.modRevision), Lease: registry.LeaseID(kv.lease)}
}

func (c *client) Get(ctx context.Context, key string) (e registry.Entry, err error) {
	if err := registry.CheckKey(key); err != nil {
		return e, err
	}
	list, _, err := c.find(ctx, "get", key, rangeRequest(c.prefix+key, "", 0))
	if err == nil && len(list) == 0 {
		err = registry.Fault("get", key, fs.ErrNotExist)
	}
	if err != nil {
		return e, err
	}
	return list[0], nil
}

func (c *client) List(ctx context.Context, prefix string) ([]registry.Entry, registry.Revision, error) {
	if err := registry.CheckPrefix(prefix); err != nil {
		return nil, 0, err
	}
	from := c.prefix + prefix
	list, at, err := c.find(ctx, "list", prefix, rangeRequest(from, prefixEnd(from), registry.EntriesMost+1))
	if err == nil && len(list) > registry.EntriesMost {
		err = registry.Fault("list", prefix, registry.ErrTooMany)
	}
	if err != nil {
		return nil, 0, err
	}
	return list, at, nil
}

// find returns the entries of a range, and the revision at which they were read.
func (c *client) find(ctx context.Context, op, subject string, request []byte) (list []registry.Entry, at registry.Revision, err error) {
	response, err := c.call(ctx, op, subject, true, "KV/Range", request)
	if err != nil {
		return nil, 0, err
	}
	r, err := readRange(response)
	if err != nil {
		return nil, 0, registry.Fault(op, subject, err)
	}
	for _, kv := range r.entries {
		list = append(list, c.entry(kv))
	}
	return list, registry.Revision(r.revision), nil
}

// change applies one operation if all conditions hold.
func (c *client) change(ctx context.Context, op, key string, operation []byte, where []registry.Is) (registry.Revision, error) {
	response, err := c.call(ctx, op, key, false, "KV/Txn", txnRequest(c.prefix, where, operation))
	if err != nil {
		return 0, err
	}
	r, err := readTxn(response)
	switch {
	case err != nil:
		return 0, registry.Fault(op, key, err)
	case !r.succeeded:
		return registry.Revision(r.revision), registry.Fault(op, key, registry.ErrChanged)
	}
	return registry.Revision(r.revision), nil
}

func (c *client) Put(ctx context.Context, key string, value []byte, lease registry.LeaseID, where ...registry.Is) (registry.Revision, error) {
	if err := registry.CheckPut(key, value, where); err != nil {
		return 0, err
	}
	return c.change(ctx, "put", key, putOperation(c.prefix+key, value, int64(lease)), where)
}

func (c *client) Delete(ctx context.Context, key string, where ...registry.Is) error {
	if err := registry.CheckPut(key, nil, where); err != nil {
		return err
	}
	_, err := c.change(ctx, "delete", key, deleteOperation(c.prefix+key), where)
	return err
}

// granted is a lease of a client.
type granted struct {
	client *client
	id     int64
	ttl    time.Duration
}

func (c *client) Grant(ctx context.Context, least time.Duration) (registry.Lease, error) {
	if err := registry.CheckTTL(least); err != nil {
		return nil, err
	}
	// a lease that was granted twice expires unused
	l, err := c.askLease(ctx, "grant", "Lease/LeaseGrant", grantRequest(int64((least+time.Second-1)/time.Second)))
	if err != nil {
		return nil, err
	}
	return &granted{client: c, id: l.id, ttl: time.Duration(l.seconds) * time.Second}, nil
}

// askLease sends a request about a lease. Errors call it "a lease": its number means nothing to people.
func (c *client) askLease(ctx context.Context, op, method string, request []byte) (leaseResponse, error) {
	response, err := c.call(ctx, op, "a lease", true, method, request)
	if err != nil {
		return leaseResponse{}, err
	}
	l, err := readLease(response)
	return l, registry.Fault(op, "a lease", err)
}

func (l *granted) ID() registry.LeaseID { return registry.LeaseID(l.id) }
func (l *granted) TTL() time.Duration   { return l.ttl }

func (l *granted) Renew(ctx context.Context) error {
	r, err := l.client.askLease(ctx, "renew", "Lease/LeaseKeepAlive", leaseRequest(l.id))
	if err == nil && r.seconds <= 0 { // how etcd reports a missing lease
		err = registry.Fault("renew", "a lease", registry.ErrExpired)
	}
	return err
}

func (l *granted) Revoke(ctx context.Context) error {
	_, err := l.client.askLease(ctx, "revoke", "Lease/LeaseRevoke", leaseRequest(l.id))
	if errors.Is(err, registry.ErrExpired) {
		return nil
	}
	return err
}
