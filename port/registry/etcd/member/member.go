// Package member runs a member of an etcd cluster: the real server, from its module.
//
// It is for a process of its own, since etcd ends its process when it finds its files damaged: call Run, which returns when the member is over. The data in its folder outlive any end of the process. The
// server listens where Config says, and asks nobody who he is: a Unix socket in a folder that nobody else may enter, or a loopback address of a test.
package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bellows"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// Config is what a member needs.
type Config struct {
	Folder  string // of its data, made where it is not there
	Name    string
	Client  string // address at which clients are heard
	Peer    string // and members
	Cluster string // NAME=PEER of all members, with commas; "": it is alone
	// QuotaBytes is how large its data may be, with those of past revisions; 0: 256 MiB. A member that is full makes room.
	QuotaBytes int64
}

// Times and limits. With these a member that is alone is ready in some tens of milliseconds more than it takes to read its data, and three have another leader within a second.
const (
	tickMillis     = 50
	electionMillis = 500
	quotaBytes     = 256 << 20
	requestBytes   = 1 << 20
	historyKept    = "1024" // changes that watches may be behind; looked at every five minutes
	readyWithin    = 30 * time.Second
)

// Run is a member until ctx ends or it fails. ready is called when it answers.
func Run(ctx context.Context, c Config, ready func()) error {
	fail := func(kind bellows.Kind, err error) error {
		return bellows.Errorf(kind, "run", "registry member "+c.Name, "%w", bellows.Pathless(err))
	}
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return fail(bellows.CannotWrite, err)
	}
	client, err := url.Parse(c.Client)
	if err != nil {
		return fail(bellows.Config, err)
	}
	peer, err := url.Parse(c.Peer)
	if err != nil {
		return fail(bellows.Config, err)
	}
	e := embed.NewConfig()
	e.Name, e.Dir = c.Name, filepath.Clean(c.Folder)
	e.ListenClientUrls, e.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	e.ListenPeerUrls, e.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	e.InitialCluster, e.InitialClusterToken = c.Cluster, "bellows"
	if c.Cluster == "" {
		e.InitialCluster = c.Name + "=" + c.Peer
	}
	e.TickMs, e.ElectionMs = tickMillis, electionMillis
	e.QuotaBackendBytes, e.MaxRequestBytes = cmp.Or(c.QuotaBytes, quotaBytes), requestBytes
	e.AutoCompactionMode, e.AutoCompactionRetention = "revision", historyKept
	e.EnableGRPCGateway = false
	e.LogLevel, e.LogOutputs = "error", []string{"stderr"}
	server, err := embed.StartEtcd(e)
	if err != nil {
		return fail(bellows.Unavailable, err)
	}
	defer server.Server.HardStop() // all that was answered is on disk; an orderly end would wait for clients
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	select {
	case <-server.Server.ReadyNotify():
		if err := makeRoom(ctx, server.Server); err != nil {
			return fail(bellows.Unavailable, err)
		}
		ready()
	case err := <-server.Err():
		return fail(bellows.Unavailable, err)
	case <-late.C:
		return fail(bellows.Unavailable, fmt.Errorf("it is not ready within %v: the other members are missing", readyWithin))
	case <-ctx.Done():
		return nil
	}
	tick := time.NewTicker(roomEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-server.Err():
			return fail(bellows.Unavailable, err)
		case <-tick.C:
			if err := makeRoom(ctx, server.Server); err != nil {
				return fail(bellows.Unavailable, err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// roomEvery is how often a member looks whether it is full.
const roomEvery = time.Second

// makeRoom makes a full member writable again: it compacts past revisions, returns their space, and ends the alarm that makes etcd refuse all writes. etcd leaves these steps to an operator, and the registry of a
// local cluster has none.
func makeRoom(ctx context.Context, s *etcdserver.EtcdServer) error {
	full := slices.DeleteFunc(s.Alarms(), func(a *pb.AlarmMember) bool { return a.Alarm != pb.AlarmType_NOSPACE })
	if len(full) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	_, err := s.Compact(ctx, &pb.CompactionRequest{Revision: s.KV().Rev(), Physical: true})
	if err != nil && !errors.Is(err, mvcc.ErrCompacted) {
		return fmt.Errorf("it is full, and past revisions are not forgotten: %w", err)
	}
	if err := s.Defragment(); err != nil {
		return fmt.Errorf("it is full, and its space is not given back: %w", err)
	}
	for _, a := range full {
		if _, err := s.Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: a.MemberID, Alarm: pb.AlarmType_NOSPACE}); err != nil {
			return fmt.Errorf("it was full, and the alarm does not end: %w", err)
		}
	}
	return nil
}
