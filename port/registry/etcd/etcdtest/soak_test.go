//go:build soak

package etcdtest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/port/registry"
	"bellows/port/registry/etcd"
)

// leader returns the member that leads the others.
func (m *members) leader() string {
	m.Helper()
	c := m.client()
	for m.ctx.Err() == nil {
		for name := range m.running {
			ctx, cancel := context.WithTimeout(m.ctx, etcd.WithinDefault)
			s, err := c.Status(ctx, m.endpoint(name))
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
func (m *members) follower() string {
	leader := m.leader()
	for name := range m.running {
		if name != leader {
			return name
		}
	}
	return ""
}

// TestMembersDie makes a client count, lead and hold a lease while a follower and then the leader of the members is killed.
func TestMembersDie(t *testing.T) {
	t.Parallel()
	m := startMembers(t)
	reg := m.open(m.config("count"))
	lease, err := reg.Grant(m.ctx, 30*time.Second)
	require.NoError(t, err)
	office, err := registry.Campaign(m.ctx, reg, "office", []byte("the test"), lease)
	require.NoError(t, err)
	c := m.counter(reg)
	var stop atomic.Bool
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for !stop.Load() {
			if err := lease.Renew(m.ctx); err != nil && bellows.KindOf(err) != bellows.Unavailable {
				t.Error(err)
				return
			}
		}
	})
	c.count(20)
	lost := m.follower()
	m.kill(lost)
	c.count(40)
	m.start(lost)
	c.count(60)
	m.kill(m.leader())
	c.count(80)
	stop.Store(true)
	renewing.Wait()
	c.check()
	if _, err := reg.Put(m.ctx, "state", nil, 0, office.Holds()); err != nil {
		t.Errorf("the leader has lost its office: %v", err)
	}
}
