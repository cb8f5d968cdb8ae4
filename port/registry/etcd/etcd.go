// Package etcd is the registry port over an etcd cluster, of one member or of several.
//
// Open a client with Config. A member that goes is unseen but for the time that it takes: reads are asked again of another one until Config.Within is over; so is what was not sent. What
// was sent and not answered is an error of kind Unavailable, and registry.Settle finds out what became of it.
//
// The package refuses to speak over a network without TLS: addresses are those of Unix sockets, of this machine's loopback, or begin with https://.
package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"bellows"
	"bellows/port/registry"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
	again       = 100 * time.Millisecond // before something that has failed is tried again
)

// CheckEndpoint refuses an address that is none, or at which what is said could be heard.
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
		why = "whoever listens on the network would read and change what is said"
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

// client is the registry. Its fields do not change.
type client struct {
	etcd   *clientv3.Client
	name   string
	prefix string
	within time.Duration
	once   sync.Once
	closed chan struct{}
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
	e, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints, TLS: c.TLS, Logger: zap.NewNop(),
		DialKeepAliveTime: silentAfter, DialKeepAliveTimeout: silentFor})
	if err != nil {
		return nil, bellows.Errorf(bellows.Config, "open", name, "%w", err)
	}
	r := &client{etcd: e, name: name, prefix: c.Prefix + "/", within: c.Within, closed: make(chan struct{})}
	if r.within <= 0 {
		r.within = WithinDefault
	}
	if _, err := r.Get(ctx, "is-there"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (c *client) Name() string { return c.name }

func (c *client) Close() error {
	c.once.Do(func() {
		close(c.closed)
		_ = c.etcd.Close() // it says no more than that the context of its watches has ended
	})
	return nil
}

// call sends a request to the cluster, until it answers, ctx ends, or it has been silent for too long. An unanswered
// request is repeated if that is harmless.
func (c *client) call(ctx context.Context, op, subject string, harmless bool, do func(context.Context) error) error {
	select {
	case <-c.closed:
		return registry.Fault(op, subject, registry.ErrClosed)
	default:
	}
	if err := ctx.Err(); err != nil {
		return registry.Fault(op, subject, err)
	}
	inner, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	var last error
	for {
		err := do(inner)
		switch {
		case err == nil:
			return nil
		case isClosed(c.closed):
			return registry.Fault(op, subject, registry.ErrClosed)
		case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
			return registry.Fault(op, subject, ctx.Err())
		case inner.Err() != nil:
			return registry.Fault(op, subject, fmt.Errorf("%s has not answered%s: %w", c.name, because(last), context.DeadlineExceeded))
		case !harmless || status.Code(rpcError(err)) != codes.Unavailable:
			return registry.Fault(op, subject, cause(err))
		}
		last = err
		pause(inner, again)
	}
}

func because(last error) string {
	if last == nil {
		return ""
	}
	return " (" + bellows.Printable(status.Convert(rpcError(last)).Message(), 200) + ")"
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
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

// rpcError converts an error of the client to one of gRPC. The client makes its own of those that it knows.
func rpcError(err error) error {
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		return status.Error(known.Code(), known.Error())
	}
	return err
}

// cause returns the port's meaning of an error of etcd.
func cause(err error) error {
	for theirs, ours := range map[error]error{
		rpctypes.ErrLeaseNotFound: registry.ErrExpired,
		rpctypes.ErrCompacted:     registry.ErrBehind,
		rpctypes.ErrNoSpace:       registry.ErrFull,
		rpctypes.ErrGRPCNoSpace:   registry.ErrFull,
	} {
		if errors.Is(err, theirs) || errors.Is(rpctypes.Error(err), theirs) {
			return ours
		}
	}
	return err
}

func (c *client) entry(key, value []byte, revision, lease int64) registry.Entry {
	return registry.Entry{Key: strings.TrimPrefix(string(key), c.prefix), Value: value, Revision: registry.Revision(revision), Lease: registry.LeaseID(lease)}
}

func (c *client) Get(ctx context.Context, key string) (e registry.Entry, err error) {
	if err := registry.CheckKey(key); err != nil {
		return e, err
	}
	there := false
	err = c.call(ctx, "get", key, true, func(ctx context.Context) error {
		r, err := c.etcd.Get(ctx, c.prefix+key)
		if err == nil && len(r.Kvs) > 0 {
			kv := r.Kvs[0]
			e, there = c.entry(kv.Key, kv.Value, kv.ModRevision, kv.Lease), true
		}
		return err
	})
	if err == nil && !there {
		err = registry.Fault("get", key, fs.ErrNotExist)
	}
	return e, err
}

func (c *client) List(ctx context.Context, prefix string) (list []registry.Entry, at registry.Revision, err error) {
	if err := registry.CheckPrefix(prefix); err != nil {
		return nil, 0, err
	}
	more := false
	err = c.call(ctx, "list", prefix, true, func(ctx context.Context) error {
		r, err := c.etcd.Get(ctx, c.prefix+prefix, clientv3.WithPrefix(), clientv3.WithLimit(registry.EntriesMost))
		if err != nil {
			return err
		}
		list, at, more = nil, registry.Revision(r.Header.Revision), r.More
		for _, kv := range r.Kvs {
			list = append(list, c.entry(kv.Key, kv.Value, kv.ModRevision, kv.Lease))
		}
		return nil
	})
	if err == nil && more {
		return nil, 0, registry.Fault("list", prefix, registry.ErrTooMany)
	}
	return list, at, err
}

// where returns conditions as etcd compares them. The last change of a missing key is 0.
func (c *client) where(list []registry.Is) (out []clientv3.Cmp) {
	for _, is := range list {
		out = append(out, clientv3.Compare(clientv3.ModRevision(c.prefix+is.Key), "=", int64(is.Revision)))
	}
	return out
}

// change applies one operation if all conditions hold.
func (c *client) change(ctx context.Context, op, key string, do clientv3.Op, where []registry.Is) (at registry.Revision, err error) {
	held := true
	err = c.call(ctx, op, key, false, func(ctx context.Context) error {
		r, err := c.etcd.Txn(ctx).If(c.where(where)...).Then(do).Commit()
		if err == nil {
			held, at = r.Succeeded, registry.Revision(r.Header.Revision)
		}
		return err
	})
	if err == nil && !held {
		err = registry.Fault(op, key, registry.ErrChanged)
	}
	return at, err
}

func (c *client) Put(ctx context.Context, key string, value []byte, lease registry.LeaseID, where ...registry.Is) (registry.Revision, error) {
	if err := registry.CheckPut(key, value, where); err != nil {
		return 0, err
	}
	return c.change(ctx, "put", key, clientv3.OpPut(c.prefix+key, string(value), clientv3.WithLease(clientv3.LeaseID(lease))), where)
}

func (c *client) Delete(ctx context.Context, key string, where ...registry.Is) error {
	if err := registry.CheckPut(key, nil, where); err != nil {
		return err
	}
	_, err := c.change(ctx, "delete", key, clientv3.OpDelete(c.prefix+key), where)
	return err
}

// granted is a lease of a client.
type granted struct {
	client *client
	id     clientv3.LeaseID
	ttl    time.Duration
}

func (c *client) Grant(ctx context.Context, least time.Duration) (registry.Lease, error) {
	if err := registry.CheckTTL(least); err != nil {
		return nil, err
	}
	l := &granted{client: c}
	seconds := int64((least + time.Second - 1) / time.Second)
	// a lease that was granted twice expires unused
	err := c.call(ctx, "grant", "a lease", true, func(ctx context.Context) error {
		r, err := c.etcd.Grant(ctx, seconds)
		if err == nil {
			l.id, l.ttl = r.ID, time.Duration(r.TTL)*time.Second
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (l *granted) ID() registry.LeaseID { return registry.LeaseID(l.id) }
func (l *granted) TTL() time.Duration   { return l.ttl }

func (l *granted) Renew(ctx context.Context) error {
	return l.client.call(ctx, "renew", "a lease", true, func(ctx context.Context) error {
		_, err := l.client.etcd.KeepAliveOnce(ctx, l.id)
		return err
	})
}

func (l *granted) Revoke(ctx context.Context) error {
	err := l.client.call(ctx, "revoke", "a lease", true, func(ctx context.Context) error {
		_, err := l.client.etcd.Revoke(ctx, l.id)
		return err
	})
	if errors.Is(err, registry.ErrExpired) {
		return nil
	}
	return err
}
