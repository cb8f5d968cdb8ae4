package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/port/registry"
	"bellows/port/registry/etcd"
	"bellows/port/registry/etcd/etcdtest/member"
	"bellows/port/registry/registrytest"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// asMember marks a process of this test that is a member of a cluster: NAME CLUSTER. memberQuota is how large its data may be.
const (
	asMember    = "_REGISTRY_MEMBER"
	memberQuota = "_REGISTRY_QUOTA"
)

// TestMain checks a member where it was started as one. It ends with its standard input.
func TestMain(m *testing.M) {
	name, cluster, is := strings.Cut(os.Getenv(asMember), " ")
	if !is {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is what is waited for
		cancel()
	}()
	quota, _ := strconv.ParseInt(os.Getenv(memberQuota), 10, 64) // none: the usual one
	err := member.Run(ctx, member.Config{Folder: "data-" + name, Name: name, Client: "unix://" + name + ":1", Peer: "unix://" + name + ":2", Cluster: cluster, QuotaBytes: quota}, func() { fmt.Println("ready") })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const patience = 2 * time.Minute

// members is a cluster of three processes, which talk by Unix sockets of one folder.
type members struct {
	*testing.T
	ctx     context.Context
	folder  string
	names   []string
	running map[string]*exec.Cmd
	inputs  map[string]io.Closer
	opened  atomic.Int64
}

func startMembers(t *testing.T) *members {
	t.Helper()
	folder, err := os.MkdirTemp("", "etcd") // that of a test would be too long for a socket
	require.NoError(t, err)
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("the test has waited for %v", patience))
	m := &members{T: t, ctx: ctx, folder: folder, names: []string{"a", "b", "c"}, running: map[string]*exec.Cmd{}, inputs: map[string]io.Closer{}}
	t.Cleanup(func() {
		m.kill(m.names...)
		cancel()
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	m.start(m.names...)
	return m
}

// start starts members and waits until all are ready.
func (m *members) start(names ...string) {
	m.Helper()
	var cluster []string
	for _, name := range m.names {
		cluster = append(cluster, name+"=unix://"+name+":2")
	}
	ready := make(chan error, len(names))
	for _, name := range names {
		cmd := exec.Command(os.Args[0])
		cmd.Dir, cmd.Stderr = m.folder, os.Stderr
		cmd.Env = append(os.Environ(), asMember+"="+name+" "+strings.Join(cluster, ","))
		in, err := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err, err2); err != nil {
			m.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			m.Fatal(err)
		}
		m.running[name], m.inputs[name] = cmd, in
		go func() {
			word := make([]byte, len("ready\n"))
			_, err := io.ReadFull(out, word)
			ready <- err
		}()
	}
	for range names {
		if err := <-ready; err != nil {
			m.Fatal("a member has ended: ", err)
		}
	}
}

// kill kills members by their process ids, and waits for their ends.
func (m *members) kill(names ...string) {
	for _, name := range names {
		cmd := m.running[name]
		if cmd == nil {
			continue
		}
		if err := cmd.Process.Kill(); err != nil {
			m.Error(err)
		}
		_ = cmd.Wait() // it says that it was killed
		_ = m.inputs[name].Close()
		delete(m.running, name)
	}
}

func (m *members) endpoint(name string) string { return "unix://" + filepath.Join(m.folder, name+":1") }

func (m *members) config(prefix string) etcd.Config {
	c := etcd.Config{Prefix: prefix}
	for _, name := range m.names {
		c.Endpoints = append(c.Endpoints, m.endpoint(name))
	}
	return c
}

func (m *members) open(c etcd.Config) registry.Registry {
	m.Helper()
	r, err := etcd.Open(m.ctx, c)
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { _ = r.Close() })
	return r
}

// client returns etcd's own client, for what the port does not do.
func (m *members) client() *clientv3.Client {
	m.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: m.config("").Endpoints, Logger: zap.NewNop()})
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSuite(t *testing.T) {
	t.Parallel()
	m := startMembers(t)
	registrytest.Run(t, registrytest.Place{
		New: func(t *testing.T) func() registry.Registry {
			c := m.config(fmt.Sprintf("suite-%d", m.opened.Add(1)))
			return func() registry.Registry {
				r, err := etcd.Open(t.Context(), c)
				require.NoError(t, err)
				return r
			}
		},
		Compact: func(t *testing.T) {
			c := m.client()
			r, err := c.Get(m.ctx, "x")
			if err == nil {
				_, err = c.Compact(m.ctx, r.Header.Revision)
			}
			require.NoError(t, err)
		},
		Play: func(t *testing.T, test func(*testing.T)) { test(t) },
	})
}

// counter counts in a registry, and holds what a watch has seen against it.
type counter struct {
	*members
	reg  registry.Registry
	at   registry.Revision
	n    int
	seen registry.Watch
}

func (m *members) counter(reg registry.Registry) *counter {
	m.Helper()
	w, err := m.open(m.config("count")).Watch("n", 0)
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(w.Close)
	return &counter{members: m, reg: reg, seen: w}
}

// count counts on to n.
func (c *counter) count(n int) {
	c.Helper()
	for c.n < n {
		at, err := registry.Settle(c.ctx, c.reg, "n", fmt.Append(nil, c.n+1), 0, c.at)
		if err != nil {
			c.Fatalf("at %d: %v", c.n, err)
		}
		c.n++
		c.at = at
	}
}

// check wants each number to have been seen once, in order.
func (c *counter) check() {
	c.Helper()
	for next := 1; next <= c.n; {
		list, err := c.seen.Next(c.ctx)
		if err != nil {
			c.Fatal(err)
		}
		for _, change := range list {
			if string(change.Value) != fmt.Sprint(next) {
				c.Fatalf("seen was %s, next is %d", change.Value, next)
			}
			next++
		}
	}
}

// TestTheRegistryIsGone: without members each call ends and names those that do not answer; with them all is there
// again, and a watch continues.
func TestTheRegistryIsGone(t *testing.T) {
	t.Parallel()
	m := startMembers(t)
	config := m.config("count")
	config.Within = time.Second
	reg := m.open(config)
	c := m.counter(reg)
	c.count(10)
	m.kill(m.names...)
	_, err := reg.Get(context.Background(), "n")
	_, err2 := reg.Put(context.Background(), "other", nil, 0)
	_, err3 := reg.Grant(context.Background(), time.Minute)
	for i, err := range []error{err, err2, err3} {
		if bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), m.endpoint("a")) && i != 1 {
			t.Errorf("%d: %v", i, err)
		}
	}
	if _, err := etcd.Open(context.Background(), config); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("it is opened: %v", err)
	}
	m.start(m.names...)
	c.count(20)
	c.check()
}

// TestSlowWatch writes more than the queue of a watch holds before it reads the watch: all changes come, in order.
func TestSlowWatch(t *testing.T) {
	t.Parallel()
	m := startMembers(t)
	reg := m.open(m.config("bounded"))
	const n = 100 // of 64 KiB: more than the 4 MiB of the queue
	w, err := reg.Watch("k", 0)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	for i := range n {
		if _, err := reg.Put(m.ctx, fmt.Sprintf("k/%d", i), make([]byte, registry.ValueBytesMost), 0); err != nil {
			t.Fatal(err)
		}
	}
	var got []registry.Change
	for len(got) < n {
		list, err := w.Next(m.ctx)
		require.NoError(t, err)
		got = append(got, list...)
	}
	for i, c := range got {
		if c.Key != fmt.Sprintf("k/%d", i) || len(c.Value) != registry.ValueBytesMost {
			t.Fatalf("change %d is of %s", i, c.Key)
		}
	}
}
