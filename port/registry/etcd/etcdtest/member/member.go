// Package member runs a member of an etcd cluster in this process: the real server, from its module.
//
// Call Run in a separate process, since etcd ends its process when it finds its files damaged. It returns when the member ends. The server authenticates no client: let it listen at a Unix socket in a private
// folder.
package member

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"bellows"

	"go.etcd.io/etcd/server/v3/embed"
)

// Config is what a member needs.
type Config struct {
	Folder  string // of its data, made where it is not there
	Name    string
	Client  string // address at which clients are heard
	Peer    string // and members
	Cluster string // NAME=PEER of all members, with commas; "": it is alone
	// QuotaBytes is how large its data may be, with those of past revisions; 0: 256 MiB.
	QuotaBytes int64
}

// Times and limits. With these three members have another leader within a second.
const (
	tickMillis     = 50
	electionMillis = 500
	quotaBytes     = 256 << 20
	requestBytes   = 1 << 20
	historyKept    = "1024" // changes that watches may be behind; looked at every five minutes
	readyWithin    = 30 * time.Second
)

// Run runs a member until ctx ends or it fails. It calls ready when the member answers.
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
		ready()
	case err := <-server.Err():
		return fail(bellows.Unavailable, err)
	case <-late.C:
		return fail(bellows.Unavailable, fmt.Errorf("it is not ready within %v: the other members are missing", readyWithin))
	case <-ctx.Done():
		return nil
	}
	select {
	case err := <-server.Err():
		return fail(bellows.Unavailable, err)
	case <-ctx.Done():
		return nil
	}
}
