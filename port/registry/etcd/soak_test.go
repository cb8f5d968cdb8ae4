//go:build soak

package etcd

import (
	"context"
	"sync"
	"testing"
	"time"

	"bellows"
	"bellows/port/registry"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// leader returns the member that leads the others.
func (m *members) leader(c *client) string {
	m.Helper()
	for m.ctx.Err() == nil {
		for name := range m.running {
			ctx, cancel := context.WithTimeout(m.ctx, WithinDefault)
			s, err := clientv3.NewMaintenance(c.etcd).Status(ctx, m.endpoint(name))
			cancel()
			if err == nil && s.Leader == s.Header.MemberId {
				return name
			}
		}
	}
	m.Fatal(context.Cause(m.ctx))
	return ""
}

// follower returns a member that does not lead.
func (m *members) follower(c *client) string {
	leader := m.leader(c)
	for name := range m.running {
		if name != leader {
			return name
		}
	}
	return ""
}

// TestMembersDie has a client count, lead and hold a lease while a follower and then the leader of the members is killed.
func TestMembersDie(t *testing.T) {
	t.Parallel()
	m := startMembers(t)
	reg := m.open(m.config("count"))
	lease, err := reg.Grant(m.ctx, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	office, err := registry.Campaign(m.ctx, reg, "office", []byte("the test"), lease)
	if err != nil {
		t.Fatal(err)
	}
	c := m.counter(reg)
	stop, renewing := make(chan struct{}), sync.WaitGroup{}
	renewing.Go(func() {
		for !isClosed(stop) {
			if err := lease.Renew(m.ctx); err != nil && bellows.KindOf(err) != bellows.Unavailable {
				t.Error(err)
				return
			}
		}
	})
	c.count(20)
	lost := m.follower(reg)
	m.kill(lost)
	c.count(40)
	m.start(lost)
	c.count(60)
	m.kill(m.leader(reg))
	c.count(80)
	close(stop)
	renewing.Wait()
	c.check()
	if _, err := reg.Put(m.ctx, "state", nil, 0, office.Holds()); err != nil {
		t.Errorf("the leader has lost its office: %v", err)
	}
}
